import ControlAPI
import Fetching

extension ControlError {
    /// Why something cannot be fetched, in the words of the control API.
    package init(_ error: FetchError, path: String?) {
        switch error {
        case .held(let obstacle, let file, let folder) where obstacle.isPolicy:
            self.init(
                .heldByPolicy, "\(file): \(obstacle.text(folder: folder.rawValue))", isRetryable: true, path: file)
        case .held(let obstacle, let file, let folder):
            self.init(
                .keptOffBluetooth,
                "\(file): the devices that have it are connected over Bluetooth only, and \(obstacle.text(folder: folder.rawValue)); or "
                    + "connect to a network", isRetryable: true, path: file)
        case .unavailable(let refusal, let file, let holders):
            let reason: Phrase =
                switch refusal {
                case .wrongBytes: Phrase("the connected devices sent data of another version")
                case .notThere: Phrase("the connected devices no longer have this version")
                case .unreadable: Phrase("the connected devices cannot read it, or do not allow it over this link")
                case .noHolder: Phrase("no device has announced it")
                case .disconnected:
                    Phrase(
                        Int64(holders), one: "the only device that has it is not connected",
                        many: "none of the \(holders) devices that have it is connected")
                }
            self.init(
                .noHolder,
                "\(file): \(reason); `synctrain whereis` lists the devices that have it; connect one of them and fetch again",
                isRetryable: true, path: file)
        case .noSpace(let target, let needed, let free, let floor, let reserved):
            let (more, left) = (ByteText.size(needed), ByteText.size(Int64(clamping: free)))
            let (kept, others) = (ByteText.size(Int64(clamping: floor)), ByteText.size(Int64(clamping: reserved)))
            let text: Phrase =
                switch (floor > 0, reserved > 0) {
                case (true, false):
                    Phrase(
                        "\(target) needs \(more) more and its disk has \(left) free and must keep \(kept); free some space and fetch again"
                    )
                case (false, false):
                    Phrase(
                        "\(target) needs \(more) more and its disk has \(left) free; free some space and fetch again")
                case (true, true):
                    Phrase(
                        "\(target) needs \(more) more and its disk has \(left) free, needs \(others) for files that are arriving and must keep \(kept); free some space and fetch again"
                    )
                case (false, true):
                    Phrase(
                        "\(target) needs \(more) more and its disk has \(left) free and needs \(others) for files that are arriving; free some space and fetch again"
                    )
                }
            self.init(.noSpace, text, isRetryable: true, path: path ?? target)
        case .targetExists(let target, let file, let occupant):
            let text: Phrase =
                switch occupant {
                case .file:
                    Phrase(
                        "\(target) exists and is not this version; use --force to replace it, or -o for another name")
                case .directory:
                    Phrase("\(target) exists and is not this version; it is a directory; choose another name with -o")
                case .other: Phrase("\(target) exists; move it elsewhere or use -o for another name")
                }
            self.init(.alreadyExists, text, path: file)
        case .blocked(let obstacle, let file, let folder):
            self.init(.alreadyExists, ProblemText.obstacle(obstacle, to: file, in: folder), path: file)
        case .twin(let twin, let file, let folder):
            self.init(.alreadyExists, ProblemText.twin(twin, of: file, in: folder), path: file)
        case .deletedMeanwhile(let file): self.init(.noSuchPath, "\(file) was deleted meanwhile", path: file)
        case .outdated(let file):
            self.init(
                .busy, "\(file) was changed by another device meanwhile; fetch it again", isRetryable: true, path: file)
        case .internalName(let file):
            self.init(
                .failed, "\(file) is a reserved name; use -o for another name", path: file)
        case .noPlace:
            self.init(.failed, "the folder's directory cannot be opened; see `synctrain status`", path: path)
        }
    }
}
