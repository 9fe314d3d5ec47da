"""What cfn-init does with `AWS::CloudFormation::Init`: config sets, and the sections of a config in their order."""
import grp
import os
import pwd
import subprocess

import files
from report import COMMANDS, LOG, BuildError, Unknown

# The sections in the order in which they are applied, each with the keys of its entries.
SECTIONS = {
    "packages": None,
    "groups": {"gid"},
    "users": {"uid", "groups", "homeDir"},
    "sources": None,
    "files": {"content", "source", "encoding", "mode", "owner", "group", "authentication", "context"},
    # An instance with Linux does not wait after a command.
    "commands": {"command", "env", "cwd", "test", "ignoreErrors", "waitAfterCompletion", "runas"},
    "services": {"enabled", "ensureRunning", "files", "sources", "packages", "commands"},
}
PACKAGE_MANAGERS, SERVICE_MANAGERS = ("rpm", "yum"), ("sysvinit", "systemd")


def apply(init, names, downloads):
    """Applies the config sets with these names."""
    sets = config_sets(init)
    for name in names:
        if name not in sets:
            raise BuildError(f"Error: no ConfigSet named {name} exists")
    for name in names:
        for config in sets[name]:
            check(config, init.get(config, {}))
    LOG.info("Running configSets: %s", ", ".join(names))
    for name in names:
        LOG.info("Running configSet %s", name)
        COMMANDS.info("*" * 60)
        COMMANDS.info("ConfigSet %s", name)
        for config in sets[name]:
            LOG.info("Running config %s", config)
            COMMANDS.info("+" * 60)
            COMMANDS.info("Config %s", config)
            run_config(init.get(config, {}), downloads)
    LOG.info("ConfigSets completed")


def config_sets(init):
    """The names of the configs in each set. Without sets, `config` alone is the set `default`."""
    sets = init.get("configSets")
    if sets is None:
        return {"default": ["config"]}
    if not isinstance(sets, dict):
        raise BuildError("configSets should be a mapping of name to list")
    return {name: configs_of(name, sets, init, ()) for name in sets}


def configs_of(name, sets, init, above):
    if name in above:
        cycle = ", ".join(above)
        raise BuildError(f"At least one circular dependency detected; this is not allowed. Culprits: {cycle}")
    found = []
    entries = sets[name] if isinstance(sets[name], list) else [sets[name]]
    for entry in entries:
        if isinstance(entry, str):
            if entry not in init:
                raise BuildError(f"No configuration found with name: {entry}")
            found.append(entry)
            continue
        inner = entry.get("ConfigSet") if isinstance(entry, dict) else None
        if inner is None:
            reference = "a reference in the format {'ConfigSet':<config set name>}"
            raise BuildError(f"Config definitions must be either a config name or {reference}")
        if inner not in sets:
            raise BuildError(f"Configuration set {inner} was referenced but not defined")
        found += configs_of(inner, sets, init, (*above, name))
    return found


def check(name, config):
    """Reports what this program does not know, before anything is applied."""
    if not isinstance(config, dict):
        raise Unknown(f"`{name}` is not a mapping")
    check_values(name, config)
    for section, entries in config.items():
        at = f"{name}.{section}"
        if section not in SECTIONS:
            raise Unknown(f"unknown section `{at}`, expected one of {', '.join(SECTIONS)}")
        if not isinstance(entries, dict):
            raise Unknown(f"`{at}` is not a mapping")
        if section == "packages":
            check_names(at, "package manager", entries, PACKAGE_MANAGERS)
        elif section == "services":
            check_names(at, "service manager", entries, SERVICE_MANAGERS)
            for manager, services in entries.items():
                check_entries(f"{at}.{manager}", services, SECTIONS[section])
        elif section == "sources":
            files.check_sources(at, entries)
        else:
            check_entries(at, entries, SECTIONS[section])


def check_names(at, what, names, known):
    for name in names:
        if name not in known:
            raise Unknown(f"unknown {what} `{at}.{name}`, expected one of {', '.join(known)}")


def check_entries(at, entries, known):
    for name, attributes in (entries or {}).items():
        if not isinstance(attributes or {}, dict):
            raise Unknown(f"`{at}.{name}` is not a mapping")
        for key in attributes or {}:
            if key not in known:
                raise Unknown(f"unknown key `{at}.{name}.{key}`, expected one of {', '.join(sorted(known))}")


def check_values(at, value):
    """CloudFormation evaluates the functions of a template before cfn-init reads the metadata."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if len(value) == 1 and (key == "Ref" or key.startswith("Fn::")):
                raise Unknown(f"`{at}` has the function {key} of a template, expected its value")
            check_values(f"{at}.{key}", inner)
    elif isinstance(value, list):
        for inner in value:
            check_values(at, inner)


def run_config(config, downloads):
    """Applies the sections. Services restart after changes of what they name."""
    section = lambda name: config.get(name) or {}
    changes = {"packages": packages(section("packages"))}
    changes["groups"] = [name for name, group in sorted(section("groups").items()) if add_group(name, group or {})]
    changes["users"] = [name for name, user in sorted(section("users").items()) if add_user(name, user or {})]
    changes["sources"] = files.unpack(section("sources"), downloads)
    changes["files"] = files.write(section("files"), downloads)
    changes["commands"] = [name for name, entry in sorted(section("commands").items()) if run_command(name, entry)]
    for _, services in sorted(section("services").items()):
        for name, service in sorted(services.items()):
            set_service(name, service or {}, changes)


def run(command, env=None, cwd=None):
    """Exit code and output of a command. A string is one for the shell."""
    try:
        done = subprocess.run(
            command, shell=isinstance(command, str), env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except OSError as error:
        raise BuildError(str(error))
    return done.returncode, done.stdout.decode("utf-8", "replace")


def logged(title, command, env=None, cwd=None):
    """Runs a command; its output is in the log of commands."""
    COMMANDS.info("=" * 60)
    COMMANDS.info(title)
    code, output = run(command, env, cwd)
    if output.strip():
        COMMANDS.info("Command Output".center(60, "-"))
        for line in output.rstrip().splitlines():
            COMMANDS.info("\t%s", line)
        COMMANDS.info("-" * 60)
    if code:
        COMMANDS.error("Exited with error code %s", code)
    else:
        COMMANDS.info("Completed successfully.")
    return code, output


def packages(managers):
    """Installs packages with the tools of the node. Returns the names of new ones, by manager."""
    changed = {}
    for name, location in sorted((managers.get("rpm") or {}).items()):
        locations = location if isinstance(location, list) else [location]
        install(name, ["rpm", "-U", "--quiet", "--nosignature", "--replacepkgs", *locations])
        changed.setdefault("rpm", []).append(name)
    for name, versions in sorted((managers.get("yum") or {}).items()):
        versions = [versions] if isinstance(versions, str) else versions or []
        wanted = f"{name}-{versions[-1]}" if versions and versions[-1] else name
        if run(["rpm", "-q", "--quiet", wanted])[0] == 0:
            LOG.debug("%s will not be installed as it is already present", wanted)
            continue
        install(wanted, ["yum", "-y", "install", wanted])
        changed.setdefault("yum", []).append(name)
    return changed


def install(name, command):
    code, output = logged(" ".join(command), command)
    if code:
        LOG.error("%s failed. Output: %s", command[0], output.strip())
        raise BuildError(f"Could not successfully install {name} with {command[0]} (exit code {code})")
    LOG.info("%s installed %s", command[0], name)


def add_group(name, group):
    wanted = str(group["gid"]) if "gid" in group else None
    try:
        found = str(grp.getgrnam(name).gr_gid)
    except KeyError:
        called(["groupadd", "-r", *(["-g", wanted] if wanted else []), name], f"Failed to create group {name}")
        return True
    if wanted not in (None, found):
        raise BuildError(f"Group {name} exists with gid {found}, but gid {wanted} was requested")
    return False


def add_user(name, user):
    wanted = str(user["uid"]) if "uid" in user else None
    options = ["-d", user["homeDir"]] if user.get("homeDir") else []
    if user.get("groups"):
        options += ["-G", ",".join(user["groups"])]
    try:
        found = str(pwd.getpwnam(name).pw_uid)
    except KeyError:
        options += ["-u", wanted] if wanted else []
        called(["useradd", "-M", "-r", "--shell", "/sbin/nologin", *options, name], f"Failed to add user {name}")
        return True
    if wanted not in (None, found):
        raise BuildError(f"User {name} exists with uid {found}, but uid {wanted} was requested")
    if options:
        called(["usermod", *options, name], f"Failed to modify user {name}")
    return bool(options)


def called(command, failure):
    code, output = run(command)
    if code:
        LOG.error("%s: %s", failure, output.strip())
        raise BuildError(f"{failure}: {output.strip()}")


def run_command(name, entry):
    """Runs a command, unless its test fails. Returns whether it ran."""
    if "command" not in entry:
        raise BuildError(f"{name} does not specify the 'command' attribute, which is required")
    # Replaces the environment, as there.
    env = {key: str(value) for key, value in entry["env"].items()} if "env" in entry else None
    cwd = os.path.expanduser(entry["cwd"]) if "cwd" in entry else None
    if "test" in entry:
        code, _ = logged(f"Test for Command {name}", entry["test"], env, cwd)
        if code:
            LOG.info("Test failed with code %s", code)
            return False
    command = entry["command"]
    if "runas" in entry:
        line = command if isinstance(command, str) else " ".join(command)
        command = ["su", entry["runas"], "-c", line]
    code, output = logged(f"Command {name}", command, env, cwd)
    if code == 0:
        LOG.info("Command %s succeeded", name)
        return True
    LOG.error("Command %s (%s) failed", name, entry["command"])
    LOG.debug("Command %s output: %s", name, output)
    if not is_true(entry.get("ignoreErrors")):
        raise BuildError(f"Command {name} failed")
    LOG.info("ignoreErrors set to true, continuing build")
    return True


def set_service(name, service, changes):
    """Enables and starts a service. One whose files, packages or commands changed restarts."""
    if "enabled" in service:
        action = "enable" if is_true(service["enabled"]) else "disable"
        systemctl(action, name)
    if needs_restart(service, changes):
        systemctl("restart", name)
    elif "ensureRunning" in service:
        is_running = run(["systemctl", "is-active", "--quiet", name])[0] == 0
        if is_true(service["ensureRunning"]) != is_running:
            systemctl("stop" if is_running else "start", name)


def needs_restart(service, changes):
    lists = ("files", "sources", "commands")
    if any(set(service.get(key) or []) & set(changes[key]) for key in lists):
        return True
    wanted = service.get("packages") or {}
    return any(set(names) & set(changes["packages"].get(manager, [])) for manager, names in wanted.items())


def systemctl(action, name):
    called(["systemctl", action, name], f"Could not {action} service {name}")
    LOG.info("%s service %s", action, name)


def is_true(value):
    return str(value).lower() in ("1", "y", "yes", "true", "on")
