import NIOCore

/// What a peer said, in the order it said it.
public enum ConnectionEvent: Equatable, Sendable {
    case hello(Hello)
    case clusterConfig(ClusterConfig)
    case index(IndexBatch)
    case request(id: Int32, BlockRequest)
    /// The answer to a request that was sent and not answered before.
    case response(BlockResponse)
    case downloadProgress(DownloadProgress)
    case keepRequest(id: Int32, KeepRequest)
    /// The answer to a keep request that was sent and not answered before.
    case keepAnswer(id: Int32, KeepAnswer)
    case reachRequest(id: Int32, ReachRequest)
    /// The answer to a reach request that was sent and not answered before.
    case reachAnswer(id: Int32, ReachAnswer)
    case renameRequest(id: Int32, RenameRequest)
    /// The answer to a rename request that was sent and not answered before.
    case renameAnswer(id: Int32, RenameAnswer)
    /// The peer ends the connection; nothing follows.
    case closed(reason: String)
}

/// A part of an Index or IndexUpdate, small enough to be applied in one transaction.
public struct IndexBatch: Equatable, Sendable {
    public var folder: FolderID
    public var files: [FileInfo]
    /// From an Index: the first of its batches replaces all that is known of the peer's folder.
    public var isFullIndex: Bool
    public var isFirst: Bool
    public var isLast: Bool
    /// Syncthing ≥ 1.28, zero otherwise; known with the last batch only.
    public var lastSequence: Int64
    public var previousSequence: Int64

    public init(
        folder: FolderID, files: [FileInfo], isFullIndex: Bool, isFirst: Bool = true, isLast: Bool = true,
        lastSequence: Int64 = 0, previousSequence: Int64 = 0
    ) {
        self.folder = folder
        self.files = files
        self.isFullIndex = isFullIndex
        self.isFirst = isFirst
        self.isLast = isLast
        self.lastSequence = lastSequence
        self.previousSequence = previousSequence
    }
}

/// A message to send.
public enum OutgoingMessage: Equatable, Sendable {
    case clusterConfig(ClusterConfig)
    /// One message holds what fits a batch; the sender cuts (see `IndexBatch`).
    case index(folder: FolderID, files: [FileInfo], isFullIndex: Bool, previousSequence: Int64)
    case response(BlockResponse)
    case downloadProgress(DownloadProgress)
    /// Only towards a peer that said it takes them.
    case keepAnswer(id: Int32, KeepAnswer)
    /// Only towards a peer that has asked.
    case reachAnswer(id: Int32, ReachAnswer)
    /// Only towards a peer that has asked.
    case renameAnswer(id: Int32, RenameAnswer)
    case ping
    case close(reason: String)
}

/// Time as the connection machine counts it: since any fixed moment, never going back.
public typealias MonotonicTime = Duration
