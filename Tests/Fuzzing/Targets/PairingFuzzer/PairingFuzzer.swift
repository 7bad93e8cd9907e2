import Cryptography

@testable import Pairing

private let ends = (SHA256Digest(Array(0..<32)), SHA256Digest(Array(32..<64)))
private let nonce = PairingNonce(Array(repeating: 0x22, count: 32))

/// What a peer says in one attempt. The first byte says which end this device is, whether it knows the peer, whether its
/// user confirms, and in what pieces the rest comes. However it goes: one end, and nothing stored without a yes on both.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPairing(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: count)
    guard let control = input.first, let initiator = ends.0, let responder = ends.1, let nonce else { return 0 }
    let isInitiator = control & 1 != 0
    let confirms = control & 4 != 0
    let pieceByteCount = Int(control >> 3) + 1
    var machine = PairingMachine(
        role: isInitiator ? .initiator : .responder, local: isInitiator ? initiator : responder,
        remote: isInitiator ? responder : initiator, nonce: nonce,
        introduction: PairingIntroduction(name: "fuzzed", addresses: ["tcp://192.0.2.1:1"]),
        knowsPeer: control & 2 != 0)
    var isPeersYesSeen = false
    var stores = 0
    var outcomes: [PairingOutcome] = []

    func perform(_ events: [PairingMachine.Event]) {
        for event in events {
            switch event {
            case .send, .compare: break
            case .peerConfirmed: isPeersYesSeen = true
            case .store(let introduction):
                precondition(confirms && isPeersYesSeen, "stored without a yes on both")
                precondition(PairingIntroduction(decoding: introduction.encoded) == introduction, "no round trip")
                stores += 1
            case .end(let outcome): outcomes.append(outcome)
            }
        }
    }

    perform(machine.start())
    var rest = input.dropFirst()
    while !rest.isEmpty {
        perform(machine.receive(rest.prefix(pieceByteCount)))
        rest = rest.dropFirst(pieceByteCount)
        if confirms, let code = machine.codeToConfirm { perform(machine.confirm(code)) }
    }
    perform(machine.stored())
    perform(machine.linkEnded())
    precondition(stores <= 1 && outcomes.count == 1, "not one end")
    if case .paired = outcomes[0] { precondition(stores == 1) }
    if case .failed = outcomes[0] { precondition(stores == 0) }
    precondition(machine.phase == .ended && machine.receive(input).isEmpty, "something comes after the end")
    fuzzInvitation(input.dropFirst(), pieceByteCount: pieceByteCount)
    return 0
}
