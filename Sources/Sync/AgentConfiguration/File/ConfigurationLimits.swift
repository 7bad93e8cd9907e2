import TOML

/// How much of a configuration file is read.
enum ConfigurationLimits {
    static let byteCount = 1 << 20
    /// A file of `byteCount` bytes needs no more. Its texts become paths and names, which C reads.
    static let toml = TOMLLimits(byteCount: byteCount, depth: 16, itemCount: 100_000, allowsNull: false)
}
