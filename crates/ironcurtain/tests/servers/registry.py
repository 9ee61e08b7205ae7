# A registry of npm packages and of Python wheels on loopback, filled from what is installed already.
#
#   registry.py [--node-modules DIR]... [--site-packages DIR]... [--npm DIR]... [--tampered]
#               [--wheel NAME=REQUIREMENT]... [--source FILE] [--log FILE]
#
# Prints its port, then serves until it is killed. Each --npm DIR is a package as it would be packed; a file
# `entries.json` in it lists further entries of the archive, as [type, name, target], and `_tarball` and
# `_digest` in its manifest say where the archive is and what it is. With --tampered, archives are not those whose hashes are listed. Each
# --wheel is a package of Python that is a server and requires something, in which HERE is this registry; the
# source package whose setup.py is FILE is at /source-1.0.tar.gz. FILE of --log gets a line for each request.
# Standard library only.

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
            is_bundled = at == directory and os.path.exists(os.path.join(directory, "node_modules/.bundled"))
            names[:] = sorted(name for name in names if name != "node_modules" or is_bundled)
            for name in sorted(files):
                path = os.path.join(at, name)
                entry = tarfile.TarInfo("package/" + os.path.relpath(path, directory))
                entry.size, entry.mode = os.path.getsize(path), 0o755
                with open(path, "rb") as content:
                    tar.addfile(entry, content)
        more = os.path.join(directory, "entries.json")
        if os.path.exists(more):
            with open(more) as entries:
                for kind, name, target in json.load(entries):
                    entry = tarfile.TarInfo(name)
                    if kind == "file":
                        entry.size = len(target)
                        tar.addfile(entry, io.BytesIO(target.encode()))
                    else:
                        entry.type, entry.linkname = {"link": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE}[kind], target
                        tar.addfile(entry)
    return out.getvalue()


SERVER = """
import json, sys
def main():
    for line in sys.stdin:
        m = json.loads(line)
        if "id" not in m:
            continue
        tools = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}}
        result = hello if m["method"] == "initialize" else tools
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
"""


@functools.cache
def made_wheel(name, requirement):
    """Makes a wheel of a small server that requires something."""
    info = "%s-1.0.dist-info/" % name
    requires = "Requires-Dist: %s\n" % requirement if requirement else ""
    files = {
        name + ".py": SERVER,
        info + "METADATA": "Metadata-Version: 2.1\nName: %s\nVersion: 1.0\n%s" % (name, requires),
        info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        info + "entry_points.txt": "[console_scripts]\n%s = %s:main\n" % (name, name),
    }
    files[info + "RECORD"] = "".join("%s,,\n" % path for path in [*files, info + "RECORD"])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), text)
    return out.getvalue()


@functools.cache
def source(setup):
    """Packs a source package with this `setup.py`."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        with open(setup, "rb") as text:
            content = text.read()
        for name, bytes in [("setup.py", content), ("PKG-INFO", b"Metadata-Version: 1.0\nName: source\nVersion: 1.0\n")]:
            entry = tarfile.TarInfo("source-1.0/" + name)
            entry.size = len(bytes)
            tar.addfile(entry, io.BytesIO(bytes))
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
        if self.server.log:
            with open(self.server.log, "a") as log:
                log.write(self.path + "\n")
        path = urllib.parse.unquote(self.path.split("?")[0]).strip("/")
        if path == "source-1.0.tar.gz":
            return self.give("application/octet-stream", source(self.server.source))
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
            tarball, integrity = manifest.get("_tarball", tarball), manifest.get("_digest", integrity)
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
    parser.add_argument("--wheel", action="append", default=[])
    parser.add_argument("--source")
    parser.add_argument("--log")
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
    server.log, server.source = arguments.log, arguments.source
    here = "http://127.0.0.1:%d" % server.server_port
    for text in arguments.wheel:
        name, _, requirement = text.partition("=")
        requirement = requirement.replace("HERE", here)
        server.wheels[name + "-1.0-py3-none-any.whl"] = functools.partial(made_wheel, name, requirement)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
