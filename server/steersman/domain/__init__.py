"""What there is: frozen values, and the one pure fold from events to state. No clock, no I/O."""
