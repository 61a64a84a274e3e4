"""Prepares the clients' programs in a cache folder, each once, from pinned versions.

Each builder returns, by client name, the command that starts its program. A builder that finds its
toolchain missing raises Missing; one whose build goes wrong raises Broken.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "workers"
# Short-lived virtual machines on few cores: start fast rather than run fast.
JAVA_FLAGS = [
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xmx256m",
    "-Xshare:auto",
    "-Xlog:disable",  # an archive that cannot be used any more is told on standard output, among the events
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
]


class Missing(Exception):
    pass


class Broken(Exception):
    pass


def require(tool, minimum=0, version_flag="--version"):
    path = shutil.which(tool)
    if not path:
        raise Missing(f"{tool} is not installed")
    if minimum:
        told = subprocess.run([path, version_flag], capture_output=True, text=True)
        number = re.search(r"(\d+)\.?(\d+)?", told.stdout + told.stderr)
        if not number or int(number[1]) < minimum:
            raise Missing(f"{tool} {minimum} or newer is needed, found {number[0] if number else 'none'}")
    return path


def command(argv, cwd, env=None):
    done = subprocess.run(
        [str(a) for a in argv],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    if done.returncode:
        tail = " | ".join(line for line in done.stdout.strip().splitlines()[-6:])
        raise Broken(f"{Path(argv[0]).name} ended with {done.returncode}: {tail[-400:]}")


class Builder:
    """Builds what the chosen scenarios need; what is built already, from the same sources, is kept."""

    def __init__(self, work, log=print):
        self.work = Path(work).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.log = log

    def programs(self, clients):
        """({client: command}, {client: why there is none}, {client: why its build failed})."""
        found, missing, broken = {}, {}, {}
        for language, (names, build) in LANGUAGES.items():
            wanted = [c for c in clients if c in names]
            if not wanted:
                continue
            try:
                found.update(build(self))
            except Missing as reason:
                missing.update({c: str(reason) for c in wanted})
            except (Broken, OSError) as reason:
                broken.update(dict.fromkeys(wanted, f"the {language} build failed: {reason}"))
        return found, missing, broken

    def once(self, language, make):
        """Runs make(folder) unless the folder was made from these very sources."""
        folder, sources = self.work / language, SOURCES / language
        stamp = folder / ".made-from"
        mark = digest(sources)
        if stamp.exists() and stamp.read_text() == mark:
            return folder
        began = time.monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(sources, folder)
        make(folder)
        stamp.write_text(mark)
        size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and not f.is_symlink())
        self.log(f"built {language}: {time.monotonic() - began:.0f} s, {size / 1e6:.0f} MB")
        return folder

    def python(self):
        def make(folder):
            command([sys.executable, "-m", "venv", "venv"], folder)
            pip = ["venv/bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            command([*pip, "--only-binary", ":all:", "-r", "requirements.txt"], folder)

        folder = self.once("python", make)
        python = str(folder / "venv/bin/python")
        return {
            "librdkafka": [python, str(folder / "librdkafka_worker.py")],
            "kafka-python": [python, str(folder / "kafka_python_worker.py")],
            "aiokafka": [python, str(folder / "aiokafka_worker.py")],
        }

    def go(self):
        go = require("go")

        def make(folder):
            env = {"GOFLAGS": "-mod=readonly -buildvcs=false -trimpath", "CGO_ENABLED": "0"}
            command([go, "build", "-ldflags=-s -w", "-o", "bin/", "./..."], folder, env)

        folder = self.once("go", make)
        return {name: [str(folder / "bin" / name)] for name in ("franz-go", "sarama", "kafka-go")}

    def node(self):
        require("node", 18)
        npm = require("npm")

        def make(folder):
            command([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], folder)

        folder = self.once("node", make)
        return {"kafkajs": [shutil.which("node"), str(folder / "worker.js")]}

    def java(self):
        java, javac, jar, mvn = require("java", 17), require("javac", 17), require("jar"), require("mvn")

        def make(folder):
            goals = ["dependency:copy-dependencies", "-DoutputDirectory=lib", "-DincludeScope=runtime"]
            command([mvn, "-q", "-B", *goals], folder)
            sources = sorted(str(p) for p in folder.glob("*.java"))
            command([javac, "-nowarn", "-d", "classes", "-cp", "lib/*", *sources], folder)
            command([jar, "-c", "-f", "lib/workers.jar", "-C", "classes", "."], folder)
            archive = [java, *JAVA_FLAGS, "-XX:ArchiveClassesAtExit=start.jsa", "-cp", classpath(folder)]
            command([*archive, "Worker", "warm-up"], folder)

        folder = self.once("java", make)
        start = [java, *JAVA_FLAGS, f"-XX:SharedArchiveFile={folder / 'start.jsa'}", "-cp", classpath(folder)]
        return {"java": [*start, "Worker"], "tool": start, "tools": [*start, "Tools"]}


def classpath(folder):
    return ":".join(sorted(str(jar) for jar in (folder / "lib").glob("*.jar")))


def digest(folder):
    content = hashlib.sha256()
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        content.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return content.hexdigest()


LANGUAGES = {
    "python": ({"librdkafka", "kafka-python", "aiokafka"}, Builder.python),
    "go": ({"franz-go", "sarama", "kafka-go"}, Builder.go),
    "node": ({"kafkajs"}, Builder.node),
    "java": ({"java", "tool", "tools"}, Builder.java),
}
