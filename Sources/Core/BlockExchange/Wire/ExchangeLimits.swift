/// How much of a peer's bytes is taken. Together they bound the memory that one peer can claim: one buffered body, its
/// decompressed form, and one batch of decoded entries.
public struct ExchangeLimits: Sendable {
    /// A message's length on the wire, as BEP has it. Longer is an error; up to it, an index is read as a stream.
    public var messageByteCount = 500_000_000
    /// A protobuf header.
    public var headerByteCount = 32_767
    /// A body that is held whole in memory, and what a compressed body may say it unpacks to.
    public var bufferedByteCount = 64 << 20
    /// A Response: the largest block, twice, as Syncthing 2 allows it, and its envelope.
    public var responseByteCount = (32 << 20) + 1024
    /// A Request, a Close, a Ping.
    public var smallMessageByteCount = 64 << 10
    /// A ClusterConfig or a DownloadProgress.
    public var configurationByteCount = 16 << 20
    /// A KeepRequest; the sender cuts what it asks for into such parts.
    public var keepRequestByteCount = 2 << 20
    public var entriesPerKeepRequest = 1000
    public var addressesPerReachRequest = 16
    /// An address in a reach request, as long as Syncthing takes one.
    public var reachAddressByteCount = 2083

    /// A file's name, its components and their number.
    public var nameByteCount = 4096
    public var componentByteCount = 1024
    public var pathDepth = 512
    public var symlinkTargetByteCount = 8192
    /// Blocks of a file: 16 TiB in the largest.
    public var blocksPerFile = 1 << 20
    public var countersPerVector = 1024
    /// Bytes of an entry that are carried through unread.
    public var carriedByteCount = 1 << 20

    public var foldersPerClusterConfig = 4096
    public var devicesPerClusterConfig = 65_536
    public var folderIDByteCount = 1024
    public var progressUpdates = 10_000
    public var progressBlockIndexes = 1 << 20
    /// Any other text: names of devices and programs, labels, addresses, reasons. Longer ones are cut or refused.
    public var textByteCount = 4096
    public var addressesPerDevice = 64

    /// Entries and wire bytes after which a batch is handed on.
    public var entriesPerBatch = 1000
    public var bytesPerBatch = 1 << 20

    public init() {}

    public static let standard = ExchangeLimits()
}
