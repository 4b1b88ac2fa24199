"""The configuration that makes a Debian tree a boxd machine: files, masked units and the last script.

Aims: boots fast without hardware virtualisation, keeps little in memory, does nothing by itself (a timer that was
missed while a checkpoint was stored would fire after the restore), has no identity of its own.
"""

from __future__ import annotations

MASKED = (
    "apt-daily-upgrade.service",
    "apt-daily-upgrade.timer",
    "apt-daily.service",
    "apt-daily.timer",
    "console-getty.service",
    "dev-hugepages.mount",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty-static.service",
    "getty@tty1.service",
    "ldconfig.service",
    "logrotate.timer",
    "man-db.timer",
    "modprobe@configfs.service",
    "modprobe@drm.service",
    "modprobe@efi_pstore.service",
    "proc-sys-fs-binfmt_misc.automount",
    "serial-getty@ttyS0.service",  # the serial console is a log: nobody can type there
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-binfmt.service",
    "systemd-boot-random-seed.service",
    "systemd-firstboot.service",
    "systemd-hibernate-clear.service",
    "systemd-hwdb-update.service",
    "systemd-journal-catalog-update.service",
    "systemd-journal-flush.service",
    "systemd-machine-id-commit.service",
    "systemd-networkd-persistent-storage.service",
    "systemd-networkd-wait-online.service",
    "systemd-pcrlock-make-policy.service",
    "systemd-pcrmachine.service",
    "systemd-pcrphase-sysinit.service",
    "systemd-pcrphase.service",
    "systemd-sysext.socket",
    "systemd-tpm2-setup-early.service",
    "systemd-tpm2-setup.service",
    "systemd-udev-load-credentials.service",
    "systemd-update-done.service",
)

_PRIVATE, _PLAIN, _PROGRAM = 0o440, 0o644, 0o755

_GATEWAY, _PORT = "10.213.0.1", 9002
_HINT = f"BOXD_PROXY_ENDPOINT={_GATEWAY}:{_PORT}"
_DOOR = (
    f"[RoutingPolicyRule]\nIncomingInterface=lo\nTo={_GATEWAY}\nIPProtocol=tcp\nDestinationPort={_PORT}\n"
    f"Table={_PORT}\nPriority={_PORT}\n"
)

EARLY: dict[str, tuple[str, int]] = {
    # No service is started while packages are configured in the tree.
    "/usr/sbin/policy-rc.d": ("#!/bin/sh\nexit 101\n", _PROGRAM),
}

FILES: dict[str, tuple[str, int]] = {
    # Pass 0: the journal makes the disk clean at mount; a check would only cost boot time.
    "/etc/fstab": ("LABEL=root / ext4 rw,noatime,errors=remount-ro,x-systemd.growfs 0 0\n", _PLAIN),
    "/etc/hosts": ("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n", _PLAIN),
    "/etc/locale.conf": ("LANG=C.UTF-8\n", _PLAIN),
    "/etc/default/locale": ("LANG=C.UTF-8\n", _PLAIN),
    "/etc/sudoers.d/boxd": ("boxd ALL=(ALL) NOPASSWD: ALL\n", _PRIVATE),
    # The address comes with the kernel command line (70-eth0.network, by systemd-network-generator); this is for a
    # machine that is booted without one.
    "/etc/systemd/network/80-boxd.network": (
        "[Match]\nType=ether\nKind=!*\n\n"  # cards alone: what Docker and others make inside is theirs
        "[Network]\nDHCP=ipv4\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n\n"
        # The address belongs to the MAC: a new machine-id (fork) must not ask for another one.
        "[DHCPv4]\nClientIdentifier=mac\nUseHostname=no\nSendHostname=no\nUseMTU=yes\n",
        _PLAIN,
    ),
    "/etc/systemd/resolved.conf.d/boxd.conf": ("[Resolve]\nLLMNR=no\nMulticastDNS=no\n", _PLAIN),
    "/etc/systemd/journald.conf.d/boxd.conf": (
        "[Journal]\nStorage=volatile\nRuntimeMaxUse=8M\nForwardToSyslog=no\nAudit=no\n",
        _PLAIN,
    ),
    "/etc/systemd/system.conf.d/boxd.conf": (
        f"[Manager]\nDefaultTimeoutStopSec=15s\nDefaultEnvironment={_HINT}\n",
        _PLAIN,
    ),
    # Tells programs that they are in a machine; where the metadata is they find out by themselves.
    "/etc/environment": (f"{_HINT}\n", _PLAIN),
    # The agent takes this one port of the gateway, for what the machine itself sends and for nobody on its network.
    # The route in that table comes with the agent's unit: networkd makes none from an address of the loopback.
    "/etc/systemd/network/70-eth0.network.d/boxd.conf": (_DOOR, _PLAIN),
    "/etc/systemd/network/80-boxd.network.d/boxd.conf": (_DOOR, _PLAIN),
    "/etc/systemd/logind.conf.d/boxd.conf": (
        "[Login]\nNAutoVTs=0\nReserveVT=0\nHandlePowerKey=poweroff\nPowerKeyIgnoreInhibited=yes\n",
        _PLAIN,
    ),
    "/etc/ssh/sshd_config.d/50-boxd.conf": (
        "HostKey /etc/ssh/ssh_host_ed25519_key\n"
        # Made and signed by the host; sshd only warns until the agent has put it there.
        "HostCertificate /etc/ssh/ssh_host_ed25519_key-cert.pub\n"
        # The host says at each login which keys its owner has linked.
        "AuthorizedKeysCommand /usr/bin/python3 -I -S /usr/lib/boxd-agent/openboxd/guest/agent/ask_keys.py %u %f\n"
        "AuthorizedKeysCommandUser root\n"
        # Half the login time of the default post-quantum exchange when the guest runs in software.
        "KexAlgorithms curve25519-sha256,curve25519-sha256@libssh.org,sntrup761x25519-sha512@openssh.com,"
        "mlkem768x25519-sha256\n"
        # Everybody comes by way of the agent, from one address: one who only knocks must not lock the owner out, and
        # those whom a restore has held come in all at once.
        "PerSourcePenalties no\nMaxStartups 100:30:300\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin no\n"
        "PrintLastLog no\nUseDNS no\n",
        _PLAIN,
    ),
    # The host key comes from the host, with the agent's first answer. Where it does not come, sshd could not start
    # without this.
    "/etc/systemd/system/boxd-ssh-key.service": (
        "[Unit]\nDescription=Make an SSH host key where the host has sent none\nDefaultDependencies=no\n"
        "After=local-fs.target\nBefore=ssh.service ssh.socket\nConditionPathExists=!/etc/ssh/ssh_host_ed25519_key\n\n"
        "[Service]\nType=oneshot\n"
        "ExecStart=/bin/sh -c 'n=0; while [ $n -lt 20 ]; do n=$((n+1)); sleep 0.5; "
        "[ -e /etc/ssh/ssh_host_ed25519_key-cert.pub ] && exit; done; "
        'ssh-keygen -q -t ed25519 -N "" -C "" -f /etc/ssh/ssh_host_ed25519_key\'\n\n'
        "[Install]\nWantedBy=multi-user.target\n",
        _PLAIN,
    ),
    "/etc/sysctl.d/50-boxd.conf": (
        # Kernel messages below warnings stay out of the console log.
        "kernel.printk = 4 4 1 7\n"
        # The host's pauses (a save, a busy host) are not the guest's hangs.
        "kernel.watchdog = 0\n",
        _PLAIN,
    ),
}


def links() -> dict[str, str]:
    """Symbolic links of the image: masked units, enabled ones, resolved's stub."""
    found = {f"/etc/systemd/system/{unit}": "/dev/null" for unit in MASKED}
    found["/etc/systemd/system/multi-user.target.wants/boxd-ssh-key.service"] = "../boxd-ssh-key.service"
    found["/etc/systemd/system/default.target"] = "/usr/lib/systemd/system/multi-user.target"
    found["/etc/resolv.conf"] = "../run/systemd/resolve/stub-resolv.conf"
    found["/etc/localtime"] = "/usr/share/zoneinfo/Etc/UTC"
    return found


SCRIPT = """\
set -eu
root=$1
rm -f "$root/usr/sbin/policy-rc.d"

chroot "$root" useradd --uid 1000 --user-group --create-home --shell /bin/bash boxd
chroot "$root" passwd --lock boxd >/dev/null
chroot "$root" systemctl enable systemd-networkd.service systemd-resolved.service ssh.service

# The kernel is booted from outside, so the modules in the tree must stay those of that kernel.
chroot "$root" apt-mark hold linux-image-cloud-amd64 >/dev/null
chroot "$root" sh -c 'apt-mark hold $(dpkg-query -W -f "\\${Package}\\n" "linux-image-[0-9]*")' >/dev/null

# Bytecode that is never checked against its source: the agent starts without a stat per module.
if [ -d "$root/usr/lib/boxd-agent" ]; then
    chroot "$root" python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/boxd-agent
fi

# No identity: machine-id and hostname come with the kernel command line, the host key is made at first boot.
: > "$root/etc/machine-id"
rm -f "$root"/etc/hostname "$root"/var/lib/dbus/machine-id "$root"/etc/ssh/ssh_host_*
rm -f "$root"/var/lib/systemd/random-seed "$root"/etc/.pwd.lock "$root"/etc/*-

rm -rf "$root"/var/cache/apt/*.bin "$root"/var/cache/debconf/*-old "$root"/var/cache/ldconfig/aux-cache
rm -rf "$root"/var/log/apt "$root"/var/log/dpkg.log "$root"/var/log/alternatives.log "$root"/var/log/bootstrap.log
# Not /tmp: mmdebstrap keeps its apt configuration there until it is done, and without it would clean up on the HOST.
"""
