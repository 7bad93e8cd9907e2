import Cryptography
import SyncTestKit

@testable import Pairing

/// What the tests make machines of.
enum Sample {
    static let initiator = digest(first: 0)
    static let responder = digest(first: 32)
    static let initiatorNonce = nonce(0x11)
    static let responderNonce = nonce(0x22)
    static let laptop = PairingIntroduction(name: "laptop", addresses: ["tcp://192.0.2.1:22000"])
    static let desktop = PairingIntroduction(name: "desktop", addresses: ["tcp://192.0.2.2:22000", "tcp://:22001"])

    static func digest(first: UInt8) -> SHA256Digest {
        guard let digest = SHA256Digest((0..<32).map { first &+ $0 }) else { fatalError("32 bytes") }
        return digest
    }

    static func nonce(_ byte: UInt8) -> PairingNonce { nonce(Array(repeating: byte, count: 32)) }

    static func nonce(_ bytes: [UInt8]) -> PairingNonce {
        guard let nonce = PairingNonce(bytes) else { fatalError("32 bytes") }
        return nonce
    }

    static func machine(
        _ role: PairingMachine.Role, knowsPeer: Bool = false, nonce: PairingNonce? = nil
    ) -> PairingMachine {
        role == .initiator
            ? PairingMachine(
                role: role, local: initiator, remote: responder, nonce: nonce ?? initiatorNonce,
                introduction: laptop, knowsPeer: knowsPeer)
            : PairingMachine(
                role: role, local: responder, remote: initiator, nonce: nonce ?? responderNonce,
                introduction: desktop, knowsPeer: knowsPeer)
    }
}

/// A machine with what it has asked for: bytes on their way, what was shown, stored and how it ended.
struct End {
    var machine: PairingMachine
    var outgoing: [UInt8] = []
    var shown: [PairingCode] = []
    /// Introductions that were to be stored and were.
    var stores: [PairingIntroduction] = []
    /// Asked to be stored and not yet answered.
    var toStore: PairingIntroduction?
    var peerConfirmed = 0
    var outcomes: [PairingOutcome] = []

    init(_ machine: PairingMachine) { self.machine = machine }

    var outcome: PairingOutcome? { outcomes.first }

    var failure: PairingFailure.Code? {
        guard case .failed(let failure)? = outcome else { return nil }
        return failure.code
    }

    mutating func take(_ events: [PairingMachine.Event]) {
        for event in events {
            switch event {
            case .send(let bytes): outgoing += bytes
            case .compare(let code): shown.append(code)
            case .peerConfirmed: peerConfirmed += 1
            case .store(let introduction): toStore = introduction
            case .end(let outcome): outcomes.append(outcome)
            }
        }
    }

    mutating func start() { take(machine.start()) }
    mutating func receive(_ bytes: [UInt8]) { take(machine.receive(bytes)) }
    mutating func receive(_ message: PairingMessage) { take(machine.receive(message.encoded)) }
    mutating func confirm() { if let code = machine.codeToConfirm { take(machine.confirm(code)) } }
    mutating func refuse() { take(machine.refuse()) }
    mutating func interrupt() { take(machine.interrupt()) }
    mutating func expire() { take(machine.expire()) }
    mutating func lose() { take(machine.linkEnded()) }

    mutating func store() {
        guard let introduction = toStore else { return }
        toStore = nil
        stores.append(introduction)
        take(machine.stored())
    }

    mutating func failToStore() {
        guard toStore != nil else { return }
        toStore = nil
        take(machine.storingFailed("no space"))
    }
}

/// Two ends and what is between them.
struct Pair {
    var initiator: End
    var responder: End

    init(
        _ initiator: PairingMachine = Sample.machine(.initiator),
        _ responder: PairingMachine = Sample.machine(.responder)
    ) {
        self.initiator = End(initiator)
        self.responder = End(responder)
        self.initiator.start()
    }

    /// Carries everything over until neither says more.
    mutating func settle() {
        while !initiator.outgoing.isEmpty || !responder.outgoing.isEmpty {
            let (there, back) = (initiator.outgoing, responder.outgoing)
            initiator.outgoing = []
            responder.outgoing = []
            responder.receive(there)
            initiator.receive(back)
        }
    }
}
