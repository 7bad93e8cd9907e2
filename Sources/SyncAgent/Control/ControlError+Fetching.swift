import ControlAPI

extension ControlError {
    /// Why something cannot be fetched, in the words of the control API.
    init(_ error: FetchError, path: String?) {
        switch error {
        case .held(let obstacle, let file, let folder) where obstacle.isPolicy:
            self.init(
                .heldByPolicy, "\(file): \(obstacle.text(folder: folder.rawValue))", isRetryable: true, path: file)
        case .held(let obstacle, let file, let folder):
            self.init(
                .keptOffBluetooth,
                "\(file): its holders are reached over Bluetooth only, and \(obstacle.text(folder: folder.rawValue)); or "
                    + "connect to a network", isRetryable: true, path: file)
        case .unavailable(let refusal, let file, let holders):
            let reason =
                switch refusal {
                case .wrongBytes: "the devices that are connected sent bytes that are not this version's"
                case .notThere: "the devices that are connected do not have this version any more"
                case .unreadable: "the devices that are connected cannot read it, or do not let it over this link"
                case .noHolder: "no device has announced it"
                case .disconnected: "none of its \(holders) holders is connected"
                }
            self.init(
                .noHolder,
                "\(file): \(reason); `synctrain whereis` lists who has it; connect one of them and fetch again",
                isRetryable: true, path: file)
        case .noSpace(let target, let needed, let free, let floor):
            let kept = floor > 0 ? " of which \(floor) must stay free" : ""
            self.init(
                .noSpace,
                "\(target) needs \(needed) more bytes and its disk has \(free) free\(kept); free some space and fetch "
                    + "again", isRetryable: true, path: path ?? target)
        case .targetExists(let target, let file, let occupant):
            let text =
                switch occupant {
                case .file: "exists and is not this version; use --force to replace it, or -o for another name"
                case .directory: "exists and is not this version; it is a directory; choose another name with -o"
                case .other: "exists; move it away or use -o for another name"
                }
            self.init(.alreadyExists, "\(target) \(text)", path: file)
        case .blocked(let obstacle, let file, let folder):
            self.init(.alreadyExists, ProblemText.obstacle(obstacle, to: file, in: folder), path: file)
        case .deletedMeanwhile(let file): self.init(.noSuchPath, "\(file) was deleted meanwhile", path: file)
        case .outdated(let file):
            self.init(
                .busy, "\(file) was changed by another device meanwhile; fetch it again", isRetryable: true, path: file)
        case .internalName(let file):
            self.init(
                .failed, "\(file) is a name that Syncthing keeps for itself; fetch it to another with -o", path: file)
        case .noPlace:
            self.init(.failed, "the folder's place on this disk cannot be opened; see `synctrain status`", path: path)
        }
    }
}
