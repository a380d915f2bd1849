"""Debian's source packages, by apt-get with a configuration, lists and a cache of their own."""
import pathlib
import re
import subprocess

SYSTEM = pathlib.Path("/etc/apt")


def source_entries(text, deb822):
    """The same archives, for sources in place of packages."""
    if deb822:
        return re.sub(r"(?mi)^Types:.*$", "Types: deb-src", text)
    return "\n".join(re.sub(r"^\s*deb\s", "deb-src ", line) for line in text.splitlines()
                     if re.match(r"\s*deb\s", line)) + "\n"


def configure(folder):
    """A configuration of apt-get that changes nothing outside the folder."""
    parts = folder / "apt/sources.list.d"
    for path in (parts, folder / "apt/lists/partial", folder / "apt/cache/archives/partial"):
        path.mkdir(parents=True, exist_ok=True)
    files = [SYSTEM / "sources.list", *(SYSTEM / "sources.list.d").glob("*.list"),
             *(SYSTEM / "sources.list.d").glob("*.sources")]
    for path in files:
        if path.exists():
            deb822 = path.suffix == ".sources"
            (parts / path.name).with_suffix(path.suffix).write_text(source_entries(path.read_text(), deb822))
    if (parts / "sources.list").exists():
        (parts / "sources.list").rename(parts / "system.list")
    settings = folder / "apt/apt.conf"
    settings.write_text(f'Dir::State::lists "{folder}/apt/lists";\nDir::Cache "{folder}/apt/cache";\n'
                        f'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "{parts}";\n'
                        'APT::Sandbox::User "";\nAcquire::Retries "3";\n')
    return settings


def unpacked(folder, package):
    """The tree of the package, of the newest version if there are several."""
    found = sorted(path.parent.parent for path in folder.glob("*/debian/changelog")
                   if path.read_text(errors="replace").startswith(package + " ("))
    return found[-1] if found else None


def fetch(packages, folder):
    """The unpacked sources by package; a package that cannot be had is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = sorted(name for name in packages if not unpacked(folder, name))
    if wanted:
        apt = ["env", f"APT_CONFIG={configure(folder)}", "apt-get", "-qq"]
        subprocess.run(apt + ["update"], check=False)
        for name in wanted:
            subprocess.run(apt + ["source", "--only-source", name], cwd=folder, check=False)
    trees = {name: unpacked(folder, name) for name in packages}
    return {name: tree for name, tree in trees.items() if tree}
