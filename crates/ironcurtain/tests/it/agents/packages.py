"""Makes a project that depends on 500 packages, each in a file, with a lock file for `npm ci`."""
import base64
import hashlib
import io
import json
import os
import sys
import tarfile

N_PACKAGES = 500
# What published packages really hold; some of these names count elsewhere.
FILES = {
    "README.md": "# A package\n",
    "index.js": "module.exports = 1;\n",
    "lib/a.js": "module.exports = 'a';\n",
    "lib/b.js": "module.exports = 'b';\n",
    "lib/deep/c.js": "module.exports = 'c';\n",
    "bin/run.js": "#!/usr/bin/env node\n",
    ".gitattributes": "* text=auto\n",
    ".editorconfig": "root = true\n",
    ".npmrc": "package-lock=false\n",
    ".vscode/settings.json": "{}\n",
    ".github/workflows/ci.yml": "on: push\n",
    ".husky/pre-commit": "npm test\n",
    ".envrc": "use node\n",
    "Makefile": "all:\n",
    "tsconfig.json": "{}\n",
}


def main(top):
    os.makedirs(top + "/packed")
    wanted, locked = {}, {}
    for number in range(N_PACKAGES):
        name = f"package-{number}"
        manifest = {"name": name, "version": "1.0.0", "bin": {name: "bin/run.js"}}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for path, text in {"package.json": json.dumps(manifest), **FILES}.items():
                entry = tarfile.TarInfo("package/" + path)
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
        with open(f"{top}/packed/{name}.tgz", "wb") as file:
            file.write(packed.getvalue())
        place = f"file:packed/{name}.tgz"
        digest = base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
        wanted[name] = place
        locked["node_modules/" + name] = {
            "version": "1.0.0",
            "resolved": place,
            "integrity": "sha512-" + digest,
            "bin": {name: "bin/run.js"},
        }
    manifest = {"name": "project", "version": "1.0.0", "dependencies": wanted}
    lock = {
        "name": "project",
        "version": "1.0.0",
        "lockfileVersion": 3,
        "requires": True,
        "packages": {"": manifest, **locked},
    }
    for name, value in {"package.json": manifest, "package-lock.json": lock}.items():
        with open(f"{top}/{name}", "w") as file:
            json.dump(value, file)


main(sys.argv[1])
