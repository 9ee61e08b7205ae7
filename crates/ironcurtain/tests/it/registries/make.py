"""Makes one package for each registry; prints a line of JSON for each file: its name and its digest."""

import hashlib
import io
import json
import os
import sys
import tarfile
import zipfile

where = sys.argv[1]


def keep(name, data):
    with open(os.path.join(where, name), "wb") as file:
        file.write(data)
    print(json.dumps({"name": name, "sha256": hashlib.sha256(data).hexdigest()}))


def tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


keep("tiny.tgz", tar({
    "package/package.json": '{"name":"tiny","version":"1.0.0","main":"index.js"}',
    "package/index.js": "module.exports = 'tiny from npm';\n",
}))
wheel = io.BytesIO()
with zipfile.ZipFile(wheel, "w") as archive:
    info = "tiny-1.0.0.dist-info"
    archive.writestr("tiny.py", "said = 'tiny from pypi'\n")
    archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0.0\n")
    archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    archive.writestr(f"{info}/RECORD", f"tiny.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
keep("tiny.whl", wheel.getvalue())
keep("tiny.crate", tar({
    "tiny-1.0.0/Cargo.toml": '[package]\nname = "tiny"\nversion = "1.0.0"\nedition = "2021"\n',
    "tiny-1.0.0/src/lib.rs": "pub const SAID: &str = \"tiny from crates\";\n",
}))
