"""Whether a request goes through a proxy. Only the user's own settings count; loopback never does."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from steersman.domain.settings import ModelSettings


def proxy_for(base_url: str, settings: ModelSettings, environ: Mapping[str, str]) -> str | None:
    """The URL of the proxy for an endpoint, or None for a direct connection.

    The settings win over `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` (upper or lower case).
    """
    url = urlsplit(base_url)
    host = (url.hostname or "").rstrip(".")
    proxy = settings.proxy or _variable(environ, f"{url.scheme}_proxy") or _variable(environ, "all_proxy")
    if not proxy or is_loopback(host):
        return None
    exceptions = settings.no_proxy if settings.no_proxy is not None else _variable(environ, "no_proxy")
    if _is_excepted(host, url.port or (443 if url.scheme == "https" else 80), exceptions):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's loopback."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address is not None and address.is_loopback


def _is_excepted(host: str, port: int, exceptions: str) -> bool:
    """Entries are `*`, names with their subdomains, addresses and networks, each perhaps with a port.

    An entry that is none of these excepts nothing.
    """
    entries = (entry.lower() for entry in re.split(r"[,\s]+", exceptions) if entry)
    return any(_matches(host.lower(), port, entry) for entry in entries)


def _matches(host: str, port: int, entry: str) -> bool:
    if entry == "*":
        return True
    network = _network(entry.strip("[]"))
    if network is not None:
        address = _address(host)
        return address is not None and address.version == network.version and address in network
    name, _, told_port = entry.rpartition(":")
    if name and told_port.isdigit():
        return int(told_port) == port and _matches(host, port, name)
    suffix = entry.removeprefix("*").removeprefix(".")
    return bool(suffix) and (host == suffix or host.endswith(f".{suffix}"))


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return None
