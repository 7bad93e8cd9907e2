import BlockExchange
import Glibc
import NIOCore
import Phrases
import Testing

@testable import PeerLinks

@Suite struct LinkEndTests {
    private struct Broken: Error {}

    @Test func theReasonIsTheErrors() {
        func reason(_ error: any Error) -> String { LinkEnd.reason(error) { "silent: \($0)" }.english }
        #expect(
            reason(ProtocolError(.malformed, "it made no sense"))
                == "this device does not accept what the peer sent: it made no sense")
        #expect(reason(CancellationError()) == "the agent closed the link")
        #expect(reason(IOError(errnoCode: ECONNRESET, reason: "read")).hasPrefix("silent: "))
        #expect(reason(Broken()) == "Broken()")
    }

    /// Silence is what the machine of the protocol says of it, as a text with its number.
    @Test func silenceIsATextOfTheCatalogue() {
        var machine = ConnectionMachine(now: .zero)
        guard case .timedOut(let hello) = machine.advance(to: .seconds(3600)) else {
            Issue.record("it waits on")
            return
        }
        #expect(LinkEnd.words(of: hello).template == "the peer sent no Hello within {1} s")
        let silence = ProtocolError(.timedOut, "the peer sent no complete message for 300 s")
        #expect(LinkEnd.words(of: silence).template == "the peer sent no complete message for {1} s")
        #expect(LinkEnd.words(of: silence).english == silence.message)
        let answers = ProtocolError(.timedOut, "the peer answered no request for a block for 316 s")
        #expect(LinkEnd.words(of: answers).template == "the peer answered no request for a block for {1} s")
    }

    @Test(
        arguments: [
            (LinkEnd.paused.english, LinkEnd.paused),
            (LinkEnd.waitingBlocks(4096).english, LinkEnd.waitingBlocks(4096)),
            // What another program says is shown as it is.
            ("Replacing connection", "\("Replacing connection")"), ("more than many", "\("more than many")"),
        ] as [(String, Phrase)])
    func theReasonOfAPeerIsRecognised(_ reason: String, _ known: Phrase) {
        let text = LinkEnd.closed(saying: reason)
        #expect(text.english == "the peer closed the link: \(reason)")
        guard case .phrase(let phrase)? = text.arguments.first else {
            Issue.record("\(text)")
            return
        }
        #expect(phrase.template == known.template)
        #expect(phrase.english == reason)
    }
}
