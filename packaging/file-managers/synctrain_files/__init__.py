"""How files of synctrain look in Nautilus, Nemo and Caja, and what can be done with them there.

`states`, `places` and `http` decide, and know nothing of GLib; `agent` asks the agent without ever waiting; `view` remembers
what is shown; `provider` is what a file manager loads.
"""
