import BlockExchange
import Reconciliation

extension PeerMode {
    /// - Parameters:
    ///   - mode: what the device says of a folder.
    ///   - takesKeepRequests: whether it makes promises; a synctrain that makes none may free anything at any time.
    ///   - client: the client name of the device's Hello.
    package init(_ mode: FolderMode?, takesKeepRequests: Bool, client: String) {
        self =
            switch mode {
            case .full: takesKeepRequests ? .full : .unknown
            case .selective: takesKeepRequests ? .selective : .unknown
            case nil: client == "syncthing" ? .syncthing : .unknown
            }
    }
}
