import BlockExchange
import Reconciliation

extension PeerMode {
    /// - Parameters:
    ///   - mode: what the device says of a folder.
    ///   - client: the client name of the device's Hello.
    package init(_ mode: FolderMode?, client: String) {
        self =
            switch mode {
            case .full: .full
            case .selective: .selective
            case nil: client == "syncthing" ? .syncthing : .unknown
            }
    }
}
