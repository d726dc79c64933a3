namespace rekindle::trainer {}
