import BlockExchange
import ControlAPI
import LinkSecurity
import Pairing
import Phrases

extension ControlError {
    static let nothingStored = Phrase("Nothing was stored")

    init(_ failure: PairingFailure) {
        let code: Code =
            switch failure.code {
            case .refusedHere, .interruptedHere: .confirmationNeeded
            case .refusedThere: .pairingRefused
            case .otherCode, .brokenCommitment: .pairingMismatch
            case .busy: .busy
            case .timeout, .timeoutThere: .timeout
            case .wrongOrder, .malformedMessage, .mistakeHere, .linkEnded, .interruptedThere, .notStoredHere,
                .notStoredThere:
                .pairingFailed
            }
        let isRetryable = [.busy, .timeout, .timeoutThere, .linkEnded, .interruptedThere].contains(failure.code)
        self.init(code, Phrase("\(Self.nothingStored): \(failure.text)").ended, isRetryable: isRetryable)
    }

    /// Why a device could not be dialled to pair with it.
    init(pairingWith address: String, _ error: any Error) {
        switch error {
        case let error as LinkSecurityError where error.code == .notPairing:
            self.init(
                .notPairing, Phrase("\(Self.nothingStored): \(error.text)").ended, isRetryable: true, path: address)
        case let error as LinkSecurityError where error.code == .otherProtocol:
            self.init(
                .notPairing,
                "\(Self.nothingStored): the device at \(address) does not support pairing; if it runs Syncthing, add its "
                    + "id with `synctrain device add`, and this device's id there.", path: address)
        case is CancellationError:
            self.init(.stopping, "The agent is stopping. Start it again and repeat the pairing.", isRetryable: true)
        default:
            self.init(
                .pairingFailed, Phrase("\(Self.nothingStored): \(Phrase(of: error))").ended, isRetryable: true,
                path: address)
        }
    }

    static func pairingBlocked(for wait: Duration) -> ControlError {
        let seconds = wait.components.seconds + 1
        return ControlError(
            .pairingBlocked,
            "Pairing has failed too often; somebody may be trying to guess the code. Try again in \(seconds) s.",
            isRetryable: true)
    }

    static let pairingTimeout = ControlError(
        .timeout, "\(nothingStored): no device started pairing in time. Start again on both devices.", isRetryable: true
    )

    /// - Parameter scope: where the device was searched for.
    static func deviceNotFound(_ device: DeviceID, in scope: SearchScope) -> ControlError {
        let text =
            switch (scope.network, scope.servers) {
            case (true, true):
                Phrase(
                    "\(nothingStored): \(device.shortID) was found neither on this network nor by the discovery servers. Check that its agent "
                        + "runs and is online, or give its address.")
            case (true, false):
                Phrase(
                    "\(nothingStored): \(device.shortID) was not found on this network, and discovery servers are off here "
                        + "(`synctrain network`). Check that its agent runs on this network, or give its address.")
            case (false, true):
                Phrase(
                    "\(nothingStored): \(device.shortID) was not found by the discovery servers, and local discovery is off here "
                        + "(`synctrain network`). Check that its agent runs and is online, or give its address.")
            case (false, false):
                Phrase(
                    "\(nothingStored): \(device.shortID) cannot be searched for, because discovery is off here (`synctrain network`). "
                        + "Give its address, or run `synctrain pair` there with an address of this device.")
            }
        return ControlError(.pairingFailed, text, isRetryable: !scope.isEmpty, path: device.description)
    }

    static let notPairingHere = ControlError(
        .notPairing, "There is no code to confirm. Run `synctrain pair` on both devices.")
}
