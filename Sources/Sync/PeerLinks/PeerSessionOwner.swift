import AsyncTools
import BlockExchange
import Fetching

/// What a link's owner decides for it.
package protocol PeerSessionOwner: IndexExchangeOwner {
    /// The peer has introduced itself. False ends the link, quietly; the link that is admitted is given a role soon.
    func admit(_ session: PeerSession, _ hello: Hello) async -> Bool
    /// The peer was sent the ClusterConfig of the link's role: requests may follow it.
    func opened(_ session: PeerSession) async
    /// The peer's ClusterConfig has come.
    func received(_ config: ClusterConfig, _ session: PeerSession) async
    /// Something was found out about how the link works.
    func found(_ finding: LinkGauge.Finding, _ session: PeerSession) async
    /// What the device and its peers are downloading; nil over a link that is not to carry it.
    var downloads: DownloadBoard? { get }
    /// The peer has said which blocks of files it has.
    func heard(_ progress: DownloadProgress)
    /// Answers to `requests`, in their order.
    func serve(_ requests: [BlockRequest]) async -> [BlockAnswer]
    /// The answer to a request about promises to keep files.
    func answer(_ request: KeepRequest) async -> KeepAnswer
    /// The answer to a request to test how the peer is reached; made while the link lasts.
    func answer(_ request: ReachRequest, _ session: PeerSession) async -> ReachAnswer
    /// The answer to a request to rename something.
    func answer(_ request: RenameRequest) async -> RenameAnswer
    /// Tells the peer on the primary link what there is to tell of promises, for as long as the link has that role.
    ///
    /// - Parameters:
    ///   - performed: notified when either side has said what it shares, and that was heeded.
    ///   - count: how often that was so.
    func agree(_ session: PeerSession, performed: Signal, count: @Sendable () -> Int) async
}

/// For those that share nothing.
extension PeerSessionOwner {
    package var downloads: DownloadBoard? { nil }
    package func heard(_ progress: DownloadProgress) {}
    package func answer(_ request: KeepRequest) async -> KeepAnswer { .refused }
    package func answer(_ request: ReachRequest, _ session: PeerSession) async -> ReachAnswer {
        ReachAnswer(refusal: .unavailable)
    }
    package func answer(_ request: RenameRequest) async -> RenameAnswer { RenameAnswer(.failed) }
    package func agree(_ session: PeerSession, performed: Signal, count: @Sendable () -> Int) async {}
}
