# SPDX-License-Identifier: Apache-2.0
"""What can stand behind the table of functions: the vendor's library (``cann``) and the simulator (``sim``)."""
