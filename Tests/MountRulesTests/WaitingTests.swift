import MountProtocol
import Testing

@testable import MountRules

@Suite struct CircuitBreakerTests {
    @Test func aFileOfNobodyFailsAtOnceUntilAHolderComes() {
        var breaker = CircuitBreaker()
        #expect(breaker.objection(to: 1, hasHolder: false, at: .zero) == nil)
        breaker.failed(1, .noHolder, at: .zero)
        #expect(breaker.objection(to: 1, hasHolder: false, at: .seconds(29)) == .noHolder)
        #expect(breaker.objection(to: 1, hasHolder: true, at: .seconds(1)) == nil)
        #expect(breaker.objection(to: 1, hasHolder: false, at: .seconds(30)) == nil)
        // Other files of the folder for a shorter time.
        #expect(breaker.objection(to: 2, hasHolder: false, at: .seconds(4)) == .noHolder)
        #expect(breaker.objection(to: 2, hasHolder: true, at: .seconds(4)) == nil)
        #expect(breaker.objection(to: 2, hasHolder: false, at: .seconds(5)) == nil)
    }

    @Test func silenceOfAHolderHoldsThoughItIsConnected() {
        var breaker = CircuitBreaker()
        breaker.failed(1, .silence, at: .zero)
        #expect(breaker.objection(to: 1, hasHolder: true, at: .seconds(9)) == .silence)
        #expect(breaker.objection(to: 1, hasHolder: true, at: .seconds(10)) == nil)
        #expect(breaker.objection(to: 2, hasHolder: false, at: .seconds(1)) == nil)
    }

    @Test func whatComesEndsIt() {
        var breaker = CircuitBreaker()
        breaker.failed(1, .noHolder, at: .zero)
        breaker.succeeded(1)
        #expect(breaker.objection(to: 1, hasHolder: false, at: .seconds(1)) == nil)
        breaker.failed(1, .unreadable, at: .zero)
        #expect(breaker.objection(to: 1, hasHolder: false, at: .seconds(1)) == nil)
    }
}

@Suite struct PendingRequestsTests {
    @Test func eachRequestEndsOnce() {
        var pending = PendingRequests<String>()
        _ = pending.add(1, "a", within: .seconds(2), at: .zero, caller: 10)
        #expect(pending.add(2, "b", within: .seconds(25), at: .zero, caller: 11) == .seconds(2))
        #expect(pending.expired(at: .seconds(1)).isEmpty)
        #expect(pending.expired(at: .seconds(2)).map(\.waiter) == ["a"])
        #expect(pending.take(1) == nil)
        #expect(pending.take(2) == "b" && pending.take(2) == nil)
        #expect(pending.pause(at: .zero) == nil)
    }

    @Test func interruptedCallersAreLookedAtOften() {
        var pending = PendingRequests<String>()
        _ = pending.add(1, "a", within: .seconds(25), at: .zero, caller: 10)
        pending.interrupted(1)
        // The interrupt may come before the request.
        pending.interrupted(2)
        _ = pending.add(2, "b", within: .seconds(25), at: .zero, caller: 11)
        #expect(pending.interrupted.map(\.caller) == [10, 11])
        #expect(pending.pause(at: .zero) == .milliseconds(50))
        #expect(pending.takeAll().sorted() == ["a", "b"])
    }

    @Test func moreThanTheLimitAreRefused() {
        var pending = PendingRequests<Int>(limit: 1)
        let taken = [1, 2].map { pending.add($0, 1, within: .zero, at: .zero, caller: 0) }
        #expect(taken == [.zero, nil])
    }

    /// What changes something is asked once: nobody knows whether the agent that went away has done it. All else waits for the next
    /// connection as long as it would have waited for this one.
    @Test func whatMayBeAskedTwiceOutlivesItsConnection() {
        var pending = PendingRequests<String>()
        pending.heard(at: .zero)
        _ = pending.add(1, "look", within: .seconds(2), at: .zero, caller: 0, isRepeatable: true)
        _ = pending.add(2, "create", within: .seconds(60), at: .zero, caller: 0)
        #expect(pending.disconnected() == ["create"])
        #expect(pending.remaining.map(\.waiter) == ["look"])
        pending.heard(at: .seconds(1))
        #expect(pending.pause(at: .seconds(1)) == .seconds(1))
        #expect(pending.expired(at: .seconds(2)).map(\.waiter) == ["look"])
        #expect(pending.disconnected().isEmpty && pending.remaining.isEmpty)
    }

    private typealias Waiting = PendingRequests<String>

    private static func add(_ pending: inout Waiting, _ name: String, within limit: Duration, at now: Duration) {
        _ = pending.add(UInt64(name.utf8.first ?? 0), name, within: limit, at: now, caller: 0)
    }

    /// Names fail at once, reads by the time since which nothing was heard.
    @Test func waitsForASilentAgentCountFromWhenItFellSilent() {
        var pending = Waiting()
        pending.heard(at: .seconds(9))
        Self.add(&pending, "name", within: MountDeadlines.metadata, at: .seconds(10))
        #expect(pending.expired(at: .seconds(12)).map(\.waiter) == ["name"])
        Self.add(&pending, "other", within: MountDeadlines.metadata, at: .seconds(13))
        Self.add(&pending, "read", within: MountDeadlines.read, at: .seconds(13))
        #expect(pending.expired(at: .seconds(13) + MountDeadlines.silent).map(\.waiter) == ["other"])
        #expect(pending.expired(at: .seconds(34)).isEmpty)
        #expect(pending.expired(at: .milliseconds(34_500)).map(\.waiter) == ["read"])
        Self.add(&pending, "again", within: MountDeadlines.read, at: .seconds(40))
        #expect(pending.pause(at: .seconds(40)) == MountDeadlines.silent)
        // It is back: who waits has all of the time.
        pending.heard(at: .milliseconds(40_050))
        #expect(pending.pause(at: .seconds(41)) == MountDeadlines.read - .seconds(1))
    }

    /// One request that takes its time is not an agent that says nothing.
    @Test(arguments: [true, false]) func anAgentThatSaysSomethingElseIsNotSilent(isConnected: Bool) {
        var pending = Waiting()
        Self.add(&pending, "slow", within: MountDeadlines.metadata, at: .zero)
        // Without a connection, nobody could have said anything.
        if isConnected { pending.heard(at: .seconds(1)) }
        #expect(pending.expired(at: .seconds(2)).map(\.waiter) == ["slow"])
        Self.add(&pending, "name", within: MountDeadlines.metadata, at: .seconds(3))
        #expect(pending.pause(at: .seconds(3)) == MountDeadlines.metadata)
    }

    /// A change waits for its turn as long as the agent says that it runs.
    @Test(arguments: [true, false]) func whoWaitsLongHasTheAgentAsked(isAnswered: Bool) {
        var pending = Waiting()
        pending.heard(at: .zero)
        Self.add(&pending, "change", within: MountDeadlines.change, at: .zero)
        #expect(pending.takePing(at: .milliseconds(400)) == false)
        #expect(pending.pause(at: .zero) == MountDeadlines.pingPause)
        #expect(pending.takePing(at: MountDeadlines.pingPause) == true)
        #expect(pending.takePing(at: .seconds(1)) == false)
        Self.add(&pending, "ping", within: MountDeadlines.ping, at: MountDeadlines.pingPause)
        if isAnswered {
            pending.heard(at: .seconds(1))
            #expect(pending.take(UInt64(UInt8(ascii: "p"))) == "ping")
            #expect(pending.pause(at: .seconds(1)) == MountDeadlines.change - .seconds(1))
        } else {
            #expect(pending.expired(at: MountDeadlines.metadata).map(\.waiter) == ["change", "ping"])
        }
    }
}

@Suite struct StreamProgressTests {
    /// What is read once, as by a player that seeks, is all that is delivered.
    @Test func nothingIsDeliveredUnasked() {
        var progress = StreamProgress(first: 5, limit: 4, most: 4)
        progress.awaited(5)
        #expect(progress.isOpen)
        progress.delivered(5)
        #expect(!progress.isOpen && progress.next == 6 && progress.ahead == 0)
        // The rest of the same block.
        progress.reached(5)
        #expect(!progress.isOpen)
    }

    /// Who waits again and again finds more in memory each time, up to the limit; and as far ahead of where the reader is.
    @Test func whoWaitsFindsMoreTheNextTime() {
        var progress = StreamProgress(first: 0, limit: 4, most: 4)
        progress.awaited(0)
        progress.delivered(0)
        var aheads: [Int] = []
        for block in 1...4 {
            progress.awaited(block)
            progress.delivered(block)
            aheads.append(progress.ahead)
        }
        #expect(aheads == [1, 2, 4, 4])
        for block in 5...8 {
            #expect(progress.isOpen)
            progress.delivered(block)
        }
        #expect(!progress.isOpen)
        progress.reached(5)
        #expect(progress.isOpen)
        // What is not delivered is not reached, but awaited.
        progress.delivered(9)
        progress.reached(20)
        #expect(!progress.isOpen)
    }
}

@Suite struct CallersTests {
    @Test(arguments: [
        // SIGKILL; SIGINT; SIGINT caught, ignored, blocked; SIGALRM caught while SIGTERM is not; SIGCHLD and SIGWINCH do nothing.
        ("100", "0", "0", "0", "0", true), ("0", "2", "0", "0", "0", true), ("0", "2", "0", "0", "2", false),
        ("0", "2", "0", "2", "0", false), ("0", "2", "2", "0", "0", false), ("2000", "4000", "0", "0", "2000", true),
        ("0", "10000", "0", "0", "0", false), ("0", "8000000", "0", "0", "0", false), ("0", "0", "0", "0", "0", false),
    ])
    func onlyTheDyingAreInterrupted(
        pending: String, shared: String, blocked: String, ignored: String, caught: String, isDying: Bool
    ) {
        let status =
            "Name:\tcat\nSigPnd:\t\(pending)\nShdPnd:\t\(shared)\nSigBlk:\t\(blocked)\nSigIgn:\t\(ignored)\nSigCgt:\t\(caught)\n"
        #expect(Callers.isDying(status: status) == isDying)
    }

    @Test func scannersAreKnownByName() {
        #expect(Callers.isScanner(command: "tracker-extract\n") && Callers.isScanner(command: "tumblerd"))
        #expect(!Callers.isScanner(command: "cat\n") && !Callers.isScanner(command: ""))
        let names = ["photo-cataloguer", "!tumblerd", "tumblerd"]
        #expect(Callers.isScanner(command: "photo-catalogue\n", names), "the kernel keeps 15 bytes")
        #expect(!Callers.isScanner(command: "photo-catalog\n", names))
        #expect(!Callers.isScanner(command: "tumblerd\n", names), "the first that fits decides")
        #expect(Callers.isScanner(command: "baloo_file\n", names) && !Callers.isScanner(command: "", ["", "!"]))
        let status = "Name:\tpool-nemo\nTgid:\t4711\nPid:\t4712\nPPid:\t12\n"
        #expect(Callers.process(status: status) == 4711 && Callers.parent(status: status) == 12)
        #expect(Callers.process(status: "Tgid:\tx\n") == nil && Callers.parent(status: "") == nil)
        #expect(MountDeadlines.reconnectPause(after: 0) == .milliseconds(50))
        #expect(MountDeadlines.reconnectPause(after: 1000) == .seconds(2))
    }
}

@Suite struct MountPointTests {
    @Test(
        arguments: [
            ([], "/home/me/a-b"), (["/home/me/other"], "/home/me/a-b"), (["/home/me/a-b"], "/home/me/a-b-all"),
            (["/home/me/a-b/below"], "/home/me/a-b-all"), (["/home/me/a-b", "/home/me/a-b-all"], "/home/me/a-b-all-2"),
            (["/home/me"], "/home/me/a-b"),
        ] as [([String], String)])
    func withoutADirectoryAFreeOneIsTaken(_ taken: [String], _ place: String) {
        #expect(MountPoint.proposal(home: "/home/me", folder: "a/b", taken: taken) == place)
    }

    @Test(
        arguments: [
            ("/m", MountPoint.Occupant.nothing, nil), ("/m", .directory(isEmpty: true, isOwn: true), nil),
            ("/m", .directory(isEmpty: false, isOwn: true), .notEmpty),
            ("/m", .directory(isEmpty: true, isOwn: false), .notOwn), ("/m", .other, .notADirectory),
            ("/home/f", .nothing, .insideFolder("/home/f")), ("/home/f/m", .nothing, .insideFolder("/home/f")),
            ("/home/fm", .nothing, nil), ("/home", .directory(isEmpty: false, isOwn: true), .aroundFolder("/home/f")),
            ("/", .directory(isEmpty: false, isOwn: true), .aroundFolder("/home/f")), ("/old", .nothing, .mounted),
        ] as [(String, MountPoint.Occupant, MountPoint.Objection?)])
    func placesAreChecked(path: String, occupant: MountPoint.Occupant, objection: MountPoint.Objection?) {
        #expect(MountPoint.objection(to: path, occupant, folders: ["/home/f"], mounted: ["/old"]) == objection)
    }

    @Test(arguments: [
        (["/usr/bin/synctrain-mount", "--folder", "a", "/m"], true), (["synctrain-mount", "/m"], true),
        (["synctrain-mount", "/m/n"], false), (["synctrain-mount", "/m", "--read-only"], false),
        (["synctrain", "mount", "/m"], false), (["/m/synctrain-mount"], false), (["/m"], false), ([], false),
    ])
    func theProcessOfAMountIsKnownByItsWords(words: [String], isServer: Bool) {
        let line: [UInt8] = words.flatMap { Array($0.utf8) + [UInt8(0)] }
        #expect(MountPoint.isServer(commandLine: line, of: "/m", program: "synctrain-mount") == isServer)
    }

    @Test func mountsAreFoundInTheTable() {
        let text = """
            36 35 98:0 / /home rw,noatime master:1 - ext4 /dev/root rw
            40 35 0:50 / /home/me/My\\040Library ro,nosuid - fuse.synctrain synctrain:a\\040b ro,user_id=0
            41 35 0:51 / /x ro shared:2 master:3 - fuse.sshfs synctrain:c ro
            broken
            """
        #expect(MountedFolder.all(in: text) == [MountedFolder(directory: "/home/me/My Library", folder: "a b")])
        let marked = "36 25 0:40 / /m rw - fuse.synctrain synctrain:\u{301}x rw"
        #expect(MountedFolder.all(in: marked).map { Array($0.folder.utf8) } == [Array("\u{301}x".utf8)])
    }

    /// A folder's id is of anybody.
    @Test(arguments: [
        ("a,allow_other", #"a\,allow_other"#), (#"a\,b"#, #"a\\\,b"#), ("a,\u{301}dev", "a\\,\u{301}dev"),
        ("a\u{0D4E},dev", "a\u{0D4E}\\,dev"), ("\\\u{301},x", "\\\\\u{301}\\,x"),
    ])
    func aFoldersIdIsNoOption(folder: String, name: String) {
        let options = MountedFolder.options(folder: folder, isWritable: true)
        let expected = "rw,nosuid,nodev,default_permissions,auto_unmount,fsname=synctrain:\(name),subtype=synctrain"
        #expect(options.utf8.elementsEqual(expected.utf8))
    }

    /// Of several mounts at one directory the last is seen; nothing is aborted that is not one of ours.
    @Test(arguments: [
        ("/m/a b", "0:50"), ("/m/twice", "0:53"), ("/m/under", nil), ("/m/other", nil), ("/m", nil),
    ])
    func theDeviceOfAMountIsInTheTable(directory: String, number: String?) {
        let text = """
            40 35 0:50 / /m/a\\040b rw - fuse.synctrain synctrain:a rw
            41 35 0:51 / /m/other rw - fuse.sshfs synctrain:c rw
            42 35 0:52 / /m/twice rw - fuse.synctrain synctrain:d rw
            43 42 0:53 / /m/twice rw - fuse.synctrain synctrain:d rw
            44 35 0:54 / /m/under rw - fuse.synctrain synctrain:e rw
            45 44 0:55 / /m/under rw - tmpfs tmpfs rw
            """
        let found = MountedFolder.device(in: text, at: directory)
        #expect(found?.number == number)
        #expect(number != "0:50" || found?.place == "/m/a\\040b")
    }

    /// Who has read much in order is given more than the limit, never more than a part of what was read.
    @Test func whoHasReadMuchIsGivenMore() {
        var progress = StreamProgress(first: 100, limit: 4, most: 10)
        for block in 100..<400 {
            // A reader that is always faster than the blocks.
            progress.awaited(block)
            progress.delivered(block)
            #expect(progress.ahead <= max(4, min(10, (block - 100) / 8)))
        }
        #expect(progress.ahead == 10)
    }
}
