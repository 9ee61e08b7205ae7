# A registry of npm packages and of Python wheels on loopback, filled from what is installed already.
#
#   registry.py [--node-modules DIR]... [--site-packages DIR]... [--npm DIR]... [--tampered]
#
# Prints its port, then serves until it is killed. Each --npm DIR is a package as it would be packed. With
# --tampered, archives are not those whose hashes are listed. Standard library only.

import argparse
import base64
import functools
import glob
import gzip
import hashlib
import io
import json
import os
import re
import tarfile
import urllib.parse
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def npm_packages(directories):
    """Finds packages, by name and version; packages inside of packages are packages of their own."""
    found = {}
    for directory in directories:
        with open(os.path.join(directory, "package.json")) as text:
            manifest = json.load(text)
        if "name" in manifest and "version" in manifest:
            found.setdefault(manifest["name"], {})[manifest["version"]] = (directory, manifest)
    return found


def installed(modules):
    for pattern in ["*", "@*/*"]:
        for path in glob.glob(os.path.join(modules, pattern, "package.json")):
            yield os.path.dirname(path)
            yield from installed(os.path.join(os.path.dirname(path), "node_modules"))


@functools.cache
def packed(directory):
    """Packs a directory as npm does; the same each time."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for at, names, files in os.walk(directory):
            names[:] = sorted(name for name in names if name != "node_modules")
            for name in sorted(files):
                path = os.path.join(at, name)
                entry = tarfile.TarInfo("package/" + os.path.relpath(path, directory))
                entry.size, entry.mode = os.path.getsize(path), 0o755
                with open(path, "rb") as content:
                    tar.addfile(entry, content)
    return out.getvalue()


@functools.cache
def wheel(info):
    """Makes a wheel of a package that is installed beside its dist-info; returns its name and bytes."""
    site, title = os.path.split(info)
    with open(os.path.join(info, "WHEEL")) as text:
        tags = re.findall(r"^Tag: (\S+)", text.read(), re.M)
        tag = next((tag for tag in tags if tag.startswith("py3")), tags[0])
    with open(os.path.join(info, "RECORD")) as lines:
        names = [line.split(",")[0].strip('"') for line in lines]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(set(names)):
            path = os.path.join(site, name)
            is_inside = not name.startswith("..") and "__pycache__" not in name
            if is_inside and os.path.isfile(path) and not name.endswith(("INSTALLER", "REQUESTED")):
                entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
                entry.external_attr = 0o644 << 16
                with open(path, "rb") as content:
                    archive.writestr(entry, content.read())
    return "%s-%s.whl" % (title.removesuffix(".dist-info"), tag), out.getvalue()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        path = urllib.parse.unquote(self.path.split("?")[0]).strip("/")
        if path.startswith("simple/"):
            return self.simple(path.removeprefix("simple/"))
        if path.startswith("wheels/"):
            return self.give("application/octet-stream", self.server.wheels[path.removeprefix("wheels/")]())
        if "/-/" in path:
            name, archive = path.split("/-/")
            version = archive.removesuffix(".tgz")
            archive = packed(self.server.npm[name][version][0])
            # Not what was said to be there.
            archive += b"\0" if self.server.is_tampered else b""
            return self.give("application/octet-stream", archive)
        if path in self.server.npm:
            return self.packument(path)
        self.send_error(404)

    def packument(self, name):
        versions = {}
        for version, (directory, manifest) in self.server.npm[name].items():
            archive = packed(directory)
            integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
            tarball = "http://127.0.0.1:%d/%s/-/%s.tgz" % (self.server.server_port, name, version)
            versions[version] = {**manifest, "dist": {"integrity": integrity, "tarball": tarball}}
        latest = sorted(versions)[-1]
        document = {"name": name, "dist-tags": {"latest": latest}, "versions": versions}
        self.give("application/json", json.dumps(document).encode())

    def simple(self, name):
        def normal(text):
            return re.sub(r"[-_.]+", "-", text).lower()

        links = []
        for archive in self.server.wheels:
            if normal(archive.split("-")[0]) == normal(name):
                digest = hashlib.sha256(self.server.wheels[archive]()).hexdigest()
                links.append('<a href="/wheels/%s#sha256=%s">%s</a>' % (archive, digest, archive))
        if not links:
            return self.send_error(404)
        self.give("text/html", "".join(links).encode())

    def give(self, kind, content):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--node-modules", action="append", default=[])
    parser.add_argument("--site-packages", action="append", default=[])
    parser.add_argument("--npm", action="append", default=[])
    parser.add_argument("--tampered", action="store_true")
    arguments = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    directories = list(arguments.npm)
    for modules in arguments.node_modules:
        directories.extend(installed(modules))
    server.npm = npm_packages(directories)
    server.is_tampered = arguments.tampered
    server.wheels = {}
    for site in arguments.site_packages:
        for info in glob.glob(os.path.join(site, "*.dist-info")):
            if not os.path.exists(os.path.join(info, "RECORD")):
                continue
            name, _ = wheel(info)
            server.wheels[name] = lambda info=info: wheel(info)[1]
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
