"""The work of `ci/soak/run`. Prints one line for each measurement, and ends with code 1 if one is not as expected."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ["NODEJOIN"]
# Timeout of one run. With it the number of runs bounds the whole time.
RUN_SECONDS = 300
# Share of runs that may end before their kill: moments are chosen within the time of a first run.
MOST_LATE = 0.2
# Runs for a signal that comes before the end of one.
TRIES = 5
# Growth that a process may show over a whole run: buffers of connections, allocated pages.
MOST_FILES = 8
MOST_MEMORY = 1.5

JOINS = """name: soak {index}
user_data: |
  #!/bin/bash
  /etc/eks/bootstrap.sh {{{{ cluster.name }}}}
expect: {{ phase: ready }}
"""
# The role of the node has no row in aws-auth.
REFUSED = """name: soak refused {index}
user_data: |
  #!/bin/bash
  /etc/eks/bootstrap.sh {{{{ cluster.name }}}}
cluster: {{ aws_auth: [] }}
expect: {{ phase: kubelet-started, diagnosis: role-not-mapped }}
"""


def main():
    command, *numbers = sys.argv[1:] or ["help"]
    numbers = [int(number) for number in numbers]
    with tempfile.TemporaryDirectory(prefix="nodejoin-soak-") as folder:
        folder = pathlib.Path(folder)
        if command == "joins":
            joins(folder, *numbers)
        elif command == "kills":
            kills(folder, *numbers)
        elif command == "signals":
            signals(folder, *numbers)
        elif command == "beside":
            beside(folder, *numbers)
        else:
            sys.exit("soak: expected joins, kills, signals or beside; see the head of ci/soak/run")


def joins(folder, passing=500, refused=100):
    """Joins in one process: flakes, memory and file descriptors."""
    for index in range(passing):
        (folder / f"j{index:04}.yaml").write_text(JOINS.format(index=index))
    for index in range(refused):
        (folder / f"r{index:04}.yaml").write_text(REFUSED.format(index=index))
    process = start(folder, ["run", "--format", "json", "."])
    seen, outcomes = [], {}
    deadline = time.monotonic() + RUN_SECONDS * max(1, passing + refused)
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] != "scenario-finished":
            continue
        outcome = event["verdict"]["outcome"]["outcome"]
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        if outcome != "passed":
            print(f"flake: {event['name']}: {event['verdict']}")
        seen.append(usage(process.pid))
        if time.monotonic() > deadline:
            process.terminate()
            sys.exit("soak: the time is over")
    code = process.wait()
    # The first scenarios fill caches, the last one can end after others have been removed.
    first, last = seen[min(2, len(seen) - 1)], seen[-1]
    print(f"{sum(outcomes.values())} scenarios: {outcomes}, exit code {code}")
    print(f"memory {first[0] / 1024:.0f} to {last[0] / 1024:.0f} MiB, files {first[1]} to {last[1]}")
    require(code == 0 and set(outcomes) == {"passed"}, "every scenario passes")
    require(last[0] < first[0] * MOST_MEMORY, "the memory stays flat")
    require(last[1] <= first[1] + MOST_FILES, "the number of open files stays flat")


def kills(folder, count=200, seed=1):
    """SIGKILL at random moments, a sweep, and a look at what is left."""
    chance = random.Random(seed)
    (folder / "joins.yaml").write_text(JOINS.format(index=0))
    length, late = works(folder), 0
    with Foreign() as foreign:
        for index in range(count):
            target = ("run", "client", "keeper")[index % 3]
            after = chance.uniform(0.0, length)
            keeper = ["--keeper"] if target != "run" else []
            process = start(folder, ["run", "--format", "json", *keeper, "."])
            owners = [process.pid]
            time.sleep(after)
            found = keepers(folder)
            owners += found
            victims = found if target == "keeper" else [process.pid]
            for victim in victims:
                kill(victim, signal.SIGKILL)
            process.communicate(timeout=RUN_SECONDS)
            late += target != "keeper" and process.returncode != -signal.SIGKILL
            # Also one that the client started after the moment at which there was none to kill.
            if target != "run":
                stop_keeper(folder)
            check_left(folder, foreign, owners, f"kill {index + 1} of {count}: {target} after {after:.1f} s")
        stop_keeper(folder)
        works(folder)
        foreign.check("the end")
    require(late <= count * MOST_LATE, f"most runs are killed before they end: {late} of {count} were not")
    print(f"{count} kills within {length:.1f} s, {late} behind the end, nothing left, nothing foreign touched, and the "
          "next run passes")


def signals(folder, seed=1):
    """The signals that end a run in order: each leaves nothing, without a sweep."""
    chance = random.Random(seed)
    (folder / "joins.yaml").write_text(JOINS.format(index=0))
    rows = [("SIGINT", [signal.SIGINT]), ("SIGTERM", [signal.SIGTERM]), ("SIGHUP", [signal.SIGHUP]),
            ("SIGINT and SIGTERM", [signal.SIGINT, signal.SIGTERM])]
    length = works(folder)
    with Foreign() as foreign:
        for name, sent in rows:
            # A run on a machine with other work can end earlier than the first one did.
            for _ in range(TRIES):
                after = chance.uniform(0.1, 0.8) * length
                process = start(folder, ["run", "--format", "json", "."])
                time.sleep(after)
                for number in sent:
                    kill(process.pid, number)
                process.communicate(timeout=RUN_SECONDS)
                if process.returncode != 0:
                    break
            left = objects_of([process.pid])
            print(f"{name} after {after:.1f} s: exit code {process.returncode}, left without a sweep: {len(left)}")
            require(process.returncode != 0, "the signal came before the end of the run")
            check_left(folder, foreign, [process.pid], name)
        works(folder)
    print("every signal ends a run, and the next run passes")


class Client:
    """A user of nodejoin with a folder, a copy of the program, and the keeper that its runs start."""

    def __init__(self, name, folder, program, user=None):
        self.name, self.folder, self.program = name, folder, program
        self.words = []
        if user is not None:
            group = os.stat("/var/run/docker.sock").st_gid
            self.words = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]
        folder.mkdir(exist_ok=True)
        (folder / "runtime").mkdir(mode=0o700, exist_ok=True)
        for index in range(2):
            (folder / f"j{index}.yaml").write_text(JOINS.format(index=f"{name} {index}"))
        if user is not None:
            for path in (folder, folder / "runtime"):
                os.chown(path, user, group)

    def command(self, *words):
        home = {} if not self.words else {"HOME": str(self.folder), "NODEJOIN_CACHE": str(self.folder / "cache")}
        return subprocess.Popen([*self.words, self.program, *words], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env={**environment(self.folder), **home})

    def run(self):
        return self.command("run", "--keeper", ".")

    def keepers(self):
        """The keepers of this program alone: those of two builds can share a folder."""
        return [pid for pid in keepers(self.folder) if os.readlink(f"/proc/{pid}/exe") == str(self.program)]


def beside(folder, rounds=1):
    """Keepers of two builds, two folders and two users work at the same time, and one is killed."""
    os.chmod(folder, 0o755)
    programs = [folder / "one", folder / "other"]
    for program in programs:
        shutil.copy(PROGRAM, program)
    # Another build: the bytes behind the program change nothing.
    with open(programs[1], "ab") as other:
        other.write(b"another build")
    clients = [Client("one", folder / "a", programs[0]), Client("other build", folder / "a", programs[1]),
               Client("other folder", folder / "b", programs[0])]
    if os.geteuid() == 0:
        clients.append(Client("other user", folder / "c", programs[0], user=65534))
    else:
        print("no second user: only root starts programs as another user")
    chance = random.Random(1)
    try:
        for number in range(rounds):
            for client in clients:
                client.started = client.run()
            for client in clients:
                finish(client, "at the same time")
            pids = [pid for client in clients for pid in client.keepers()]
            require(len(set(pids)) == len(clients), f"each client has a keeper of its own: {pids}")
            victim = clients[1 + number % (len(clients) - 1)]
            others = [client for client in clients if client is not victim]
            for client in others:
                client.started = client.run()
            time.sleep(chance.uniform(0.5, 5.0))
            killed = victim.keepers()
            for pid in killed:
                kill(pid, signal.SIGKILL)
            for client in others:
                finish(client, f"while the keeper of `{victim.name}` was killed")
            require(subprocess.run([PROGRAM, "sweep"], stdout=subprocess.DEVNULL).returncode == 0, "the sweep succeeds")
            require(not objects_of(killed), f"nothing of the killed keeper is left: {objects_of(killed)}")
            print(f"round {number + 1}: {len(clients)} clients, the keeper of `{victim.name}` killed")
    finally:
        owners = [pid for client in clients for pid in client.keepers()]
        for client in clients:
            client.command("keeper", "stop").communicate(timeout=RUN_SECONDS)
    deadline = time.monotonic() + 60
    while objects_of(owners) and time.monotonic() < deadline:
        time.sleep(1)
    require(not objects_of(owners), f"nothing is left: {objects_of(owners)}")
    print("clients side by side: every run passes, and nothing is left")


def finish(client, when):
    output, _ = client.started.communicate(timeout=2 * RUN_SECONDS)
    require(client.started.returncode == 0, f"the run of `{client.name}` passes {when}:\n{output}")


def start(folder, arguments):
    return subprocess.Popen([PROGRAM, *arguments], cwd=folder, env=environment(folder), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def environment(folder):
    """An own folder for sockets: the keeper of this soak is no other's."""
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    return {"NODEJOIN_JOBS": "1", **os.environ, "XDG_RUNTIME_DIR": str(runtime), "CI": ""}


def keepers(folder):
    """The keepers that this soak started, by their environment."""
    mark = f"XDG_RUNTIME_DIR={folder / 'runtime'}".encode()
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"keeper" in words and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def stop_keeper(folder):
    subprocess.run([PROGRAM, "keeper", "stop"], cwd=folder, env=environment(folder), timeout=RUN_SECONDS,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def works(folder):
    """A run that passes; returns its seconds."""
    begun = time.monotonic()
    process = start(folder, ["run", "--format", "json", "."])
    process.communicate(timeout=RUN_SECONDS)
    require(process.returncode == 0, f"the next run passes (exit code {process.returncode})")
    return time.monotonic() - begun


def check_left(folder, foreign, owners, what):
    """Sweeps, and requires that nothing of these processes is left and everything foreign is."""
    before = len(objects_of(owners))
    swept = subprocess.run([PROGRAM, "sweep"], cwd=folder, env=environment(folder), timeout=RUN_SECONDS, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    left = objects_of(owners)
    print(f"{what}: {before} objects before the sweep, {len(left)} after it")
    require(swept.returncode == 0, f"{what}: the sweep succeeds: {swept.stdout}")
    require(not left, f"{what}: nothing is left: {left}")
    foreign.check(what)


def objects_of(owners):
    """Containers, networks and volumes with the label of one of these processes."""
    found = []
    for owner in owners:
        match = ["--filter", f"label=nodejoin.pid={owner}", "--quiet"]
        for command in (["ps", "--all"], ["network", "ls"], ["volume", "ls"]):
            found += [f"{command[0]} {line}" for line in docker(*command, *match).split()]
    return found


class Foreign:
    """A container, a network and a volume that nodejoin did not create. Removed at the end."""

    def __enter__(self):
        self.name = f"soak-foreign-{os.getpid()}"
        # Other images may lack `sleep`.
        image = docker("images", "--quiet", "--filter", "label=nodejoin.image=base").split()[0]
        try:
            docker("network", "create", "--internal", self.name)
            docker("volume", "create", self.name)
            docker("run", "--detach", "--name", self.name, "--network", self.name, "--volume", f"{self.name}:/data",
                   "--entrypoint", "/bin/sleep", image, "infinity")
        except subprocess.CalledProcessError:
            self.__exit__()
            raise
        return self

    def check(self, what):
        running = docker("inspect", "--format", "{{.State.Running}}", self.name).strip()
        require(running == "true", f"{what}: the foreign container runs")
        docker("network", "inspect", self.name)
        docker("volume", "inspect", self.name)

    def __exit__(self, *_):
        for command in (["rm", "--force"], ["network", "rm"], ["volume", "rm"]):
            subprocess.run(["docker", *command, self.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def docker(*words):
    return subprocess.run(["docker", *words], check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout


def usage(pid):
    """Resident memory in KiB and the number of open files of a process."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    return memory, len(os.listdir(f"/proc/{pid}/fd"))


def kill(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def require(holds, what):
    if not holds:
        sys.exit(f"soak: expected: {what}")


main()
