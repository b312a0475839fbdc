"""Editor features, one file each; each is registered in one place and can be left out."""
