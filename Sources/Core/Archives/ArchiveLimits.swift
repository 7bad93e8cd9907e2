/// What an archive may cost, whatever it says of itself.
package enum ArchiveLimits {
    package static let members = 500_000
    /// Bytes of a member's path.
    package static let path = 4_096
    /// Bytes of all that is read to list the members.
    package static let directory: Int64 = 64 << 20
    /// Directories within directories.
    static let depth = 64
    /// Bytes that are handed on at a time.
    static let piece = 256 << 10
}
