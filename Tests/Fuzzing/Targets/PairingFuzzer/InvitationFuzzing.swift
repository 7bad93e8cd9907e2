import Cryptography

@testable import Pairing

/// What a peer says of an invitation, in pieces, and what a user pastes for a code: what is understood says the same when
/// it is written again.
func fuzzInvitation(_ input: some Collection<UInt8>, pieceByteCount: Int) {
    var reader = InvitationMessageReader()
    var rest = Array(input)[...]
    messages: while !rest.isEmpty {
        reader.append(rest.prefix(pieceByteCount))
        rest = rest.dropFirst(pieceByteCount)
        do throws(InvitationRefusal) {
            while let message = try reader.next() {
                var again = InvitationMessageReader()
                again.append(message.encoded)
                let copy = try again.next()
                precondition(copy == message, "no round trip of a message")
            }
        } catch {
            break messages
        }
    }

    // With a check that is right, so that the rest of the code is looked at.
    let body = Array(input)
    let text = "synctrain-" + Base64URL.encode(body + SHA256.digest(body).bytes.prefix(4))
    if let code = InvitationCode(parsing: text) {
        precondition(code.description == text, "no round trip of a code")
    }
    if let bytes = Base64URL.decode(input) { precondition(Array(Base64URL.encode(bytes).utf8) == Array(input)) }
    _ = InvitationCode(parsing: String(decoding: input, as: UTF8.self))
}
