"""The boundary: the language server protocol on one side, the verbs and ports of the core on the other."""
