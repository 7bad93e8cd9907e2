"""What a home's router lets through and translates, as rules of nftables."""

KINDS = ("none", "full", "restricted", "symmetric")
"""`none`: the home has a public address, everything is forwarded.
`full`: full cone: whatever port was used outward in the last two minutes can be reached by anybody.
`restricted`: ports are kept; only hosts and ports that were written to get through.
`symmetric`: a new port for each connection."""

LEASE_SECONDS = 120

UPNP = """ext_ifname=wan
listening_ip=lan
enable_upnp={upnp}
enable_natpmp={natpmp}
secure_mode=yes
min_lifetime=120
max_lifetime=86400
system_uptime=yes
notify_interval=60
uuid=00000000-0000-4000-8000-0000000000{number:02x}
upnp_table_name=router
upnp_nat_table_name=router
upnp_forward_chain=upnp_forward
upnp_nat_chain=upnp_nat
upnp_nat_postrouting_chain=upnp_postrouting
allow 1024-65535 {network} 1024-65535
deny 0-65535 0.0.0.0/0 0-65535
"""


def upnp_configuration(network, number, protocols):
    """miniupnpd's file; it serves PCP wherever it serves NAT-PMP."""
    return UPNP.format(network=network, number=number, upnp="yes" if "upnp" in protocols else "no",
                       natpmp="yes" if "natpmp" in protocols else "no")


def rules(kind, network, drops_udp=False):
    """The ruleset of a router with interfaces `lan` and `wan`."""
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is not a kind of router; choose one of {', '.join(KINDS)}")
    if kind == "none":
        forward, translate = "accept", ""
    else:
        forward = ("ct state established,related accept\n    ct status dnat accept\n"
                   '    iifname "lan" accept\n    jump upnp_forward')
        ports = " random,fully-random" if kind == "symmetric" else ""
        translate = f'oifname "wan" ip saddr {network} masquerade{ports}'
    maps = holes = openings = ""
    if kind == "full":
        for protocol in ("tcp", "udp"):
            maps += (f"  map holes_{protocol} {{ type inet_service : ipv4_addr . inet_service; flags dynamic,timeout; "
                     f"timeout {LEASE_SECONDS}s; size 4096; }}\n")
            holes += (f'    iifname "lan" oifname "wan" ip protocol {protocol} update @holes_{protocol} '
                      f"{{ {protocol} sport : ip saddr . {protocol} sport }}\n")
            openings += (f'    iifname "wan" ip protocol {protocol} dnat ip to {protocol} dport map '
                         f"@holes_{protocol}\n")
    udp = '    oifname "wan" meta l4proto udp drop\n    iifname "wan" meta l4proto udp drop\n' if drops_udp else ""
    return f"""table inet router
delete table inet router
table inet router {{
{maps}  chain upnp_forward {{ }}
  chain upnp_nat {{ }}
  chain upnp_postrouting {{ }}
  chain forward {{ type filter hook forward priority filter; policy drop;
{udp}{holes}    {forward}
  }}
  chain input {{ type filter hook input priority filter; policy accept;
    iifname "wan" ct state new meta l4proto {{ tcp, udp }} drop
  }}
  chain prerouting {{ type nat hook prerouting priority dstnat; policy accept;
    jump upnp_nat
{openings}  }}
  chain postrouting {{ type nat hook postrouting priority srcnat; policy accept;
    jump upnp_postrouting
    {translate}
  }}
}}
"""
