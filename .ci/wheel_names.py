"""Fail unless a wheel's only top-level names are `ctxledger` and its dist-info."""

import sys
import zipfile

(path,) = sys.argv[1:]
names = zipfile.ZipFile(path).namelist()
tops = {name.split("/")[0] for name in names}
if not all(top == "ctxledger" or top.endswith(".dist-info") for top in tops):
    sys.exit(f"{path} would install {sorted(tops)}")
print(f"{len(names)} files under {sorted(tops)}")
