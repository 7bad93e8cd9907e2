import Glibc
import MessageBus
import Testing

@testable import TransportBluetooth

/// Local sockets stand for L2CAP ones: what is writable is connected, unless an error waits.
@Suite(.timeLimit(.minutes(1))) struct ChannelRaceTests {
    private enum Answer: Sendable { case granted, refused, none }

    /// A socket that is answered so, and its peer.
    private struct Asked: Sendable {
        var socket: L2CAPSocket?
        var peer: Descriptor?
        let number: CInt
        /// How many bytes wait for the peer.
        var byteCount = 0

        init(_ answer: Answer) throws {
            let (socket, peer) = try Descriptor.pair(.stream)
            self.socket = L2CAPSocket(socket)
            self.peer = peer
            number = socket.number
            let bytes = [UInt8](repeating: 0, count: 65536)
            switch answer {
            case .granted: break
            // Who closes with something unread has the other end fail.
            case .refused:
                #expect(send(socket.number, bytes, 1, CInt(MSG_NOSIGNAL)) == 1)
                self.peer = nil
            // Who reads nothing lets nobody write in the end.
            case .none:
                var count = 0
                repeat {
                    byteCount += count
                    count = send(socket.number, bytes, bytes.count, CInt(MSG_NOSIGNAL))
                } while count > 0
            }
        }
    }

    /// A race and the ends of it that a test keeps.
    private struct Race {
        var race: ChannelRace
        let peers: [Descriptor?]
        let numbers: [CInt]
        let byteCounts: [Int]
        let stream: Descriptor
        var user: Descriptor?

        init(_ answers: Answer...) throws {
            let asked = try answers.map { try Asked($0) }
            race = ChannelRace(asked.compactMap(\.socket))
            peers = asked.map(\.peer)
            numbers = asked.map(\.number)
            byteCounts = asked.map(\.byteCount)
            (stream, user) = try Descriptor.pair(.stream)
        }

        mutating func run(limit: Duration = .seconds(30)) -> Result<CInt, SystemError> {
            race.run(limit: limit, orEndOf: stream).map(\.descriptor.number)
        }

        /// Whether the socket whose peer this is has been closed.
        func isClosed(_ index: Int) -> Bool {
            guard let peer = peers[index] else { return true }
            var poll = Poll()
            poll.add(peer.number, [])
            return poll.wait(.zero)[0].contains(PollEvents(rawValue: Int16(POLLHUP)))
        }
    }

    @Test func oneAloneIsConnected() throws {
        var race = try Race(.granted)
        #expect(try race.run().get() == race.numbers[0])
        #expect(!race.isClosed(0))
    }

    @Test func whoIsGrantedWinsOverThoseThatAreRefused() throws {
        var race = try Race(.refused, .refused, .granted)
        #expect(try race.run().get() == race.numbers[2])
        #expect(!race.isClosed(2))
    }

    @Test func oneOfManyStaysOpen() throws {
        var race = try Race(.granted, .granted, .refused, .granted)
        let winner = try race.run().get()
        #expect(race.numbers.indices.filter { !race.isClosed($0) }.map { race.numbers[$0] } == [winner])
        #expect(race.race.pending.isEmpty)
    }

    @Test func whenAllAreRefusedThatIsSaid() throws {
        var race = try Race(.refused, .refused)
        #expect(throws: SystemError("connect", ECONNRESET)) { try race.run().get() }
        #expect(race.race.pending.isEmpty)
    }

    @Test func whoIsNotAnsweredIsKept() throws {
        var race = try Race(.refused, .none)
        #expect(throws: SystemError("connect", ETIMEDOUT)) { try race.run(limit: .milliseconds(1)).get() }
        #expect(race.race.pending.map(\.descriptor.number) == [race.numbers[1]])
        #expect(!race.isClosed(1))
    }

    @Test func theWinnerDoesNotWaitForEver() throws {
        var race = try Race(.none, .granted)
        race.race.restLimit = .milliseconds(1)
        #expect(try race.run().get() == race.numbers[1])
        #expect(race.race.pending.map(\.descriptor.number) == [race.numbers[0]])
    }

    @Test func anAnswerMayComeWhileItWaits() async throws {
        let race = try Race(.refused, .none)
        let peer = try #require(race.peers[1])
        async let taken = Sockets.bytes(from: peer, byteCount: race.byteCounts[1])
        let result = try await Sockets.inThread {
            var race = race
            return race.run()
        }
        #expect(try result.get() == race.numbers[1])
        #expect(try await taken.count == race.byteCounts[1])
    }

    @Test func theStreamsEndCancels() throws {
        var race = try Race(.none)
        race.user = nil
        #expect(throws: SystemError("connect", ECANCELED)) { try race.run().get() }
    }
}
