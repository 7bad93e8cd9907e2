import ControlAPI
import GhostDrop

extension ControlError {
    /// How a transfer by GhostDrop's first version ended.
    package init(_ error: GhostDropError) {
        let code: Code =
            switch error.code {
            case .declined, .cancelled: .dropRefused
            case .codesDiffer, .notAuthentic: .codesDiffer
            case .timedOut: .timeout
            case .linkLost: .linkLost
            case .digestDiffers: .digestDiffers
            case .noSpace: .noSpace
            case .malformed, .tooLarge, .unexpectedFrame, .fileChanged, .diskFailed: .dropFailed
            }
        let isRetryable = [.timedOut, .linkLost, .digestDiffers, .fileChanged].contains(error.code)
        self.init(
            code, "\(error.message.prefix(1).uppercased())\(error.message.dropFirst()).", isRetryable: isRetryable)
    }

    /// The user has said no.
    package static func refusedHere(_ file: String?) -> ControlError {
        ControlError(
            .confirmationNeeded,
            file.map { "\($0) was not transferred: you declined." } ?? "Nothing was transferred.",
            path: file)
    }

    package static let nothingToAnswer = ControlError(
        .invalidRequest, "No transfer is waiting for that answer. Start with `synctrain drop send` or `drop receive`.")
}
