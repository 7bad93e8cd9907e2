// MARK: - Devices, pairing, drops

extension Endpoints {
    static let deviceEndpoints: [any AnyEndpoint] = [
        devices, addDevice, renameDevice, removeDevice, deviceCode, setDevice, setDeviceBluetooth, nearby, pair,
        pairStatus,
        answerPairing, dropSend, provideDropPart, dropReceive, answerDrop, invite, invitations, revokeInvitation, join,
    ]

    package static let devices = Endpoint(.get, "/v1/devices", "Known devices", nothing, DeviceList.self)

    package static let addDevice = Endpoint(
        .post, "/v1/devices", "Add a device, or change settings of one", body(DeviceSettings.self), Done.self,
        errors: [.noSuchFolder])

    /// The device is named by its id or its name.
    package static let renameDevice = Endpoint(
        .patch, "/v1/devices", "Rename a device", body(DeviceRename.self), Done.self, errors: [.noSuchDevice])

    /// The device is named by its id or its name. The answer is what `addDevice` takes to bring it back as it was.
    package static let removeDevice = Endpoint(
        .delete, "/v1/devices", "Remove a device", query(Query.text("device")), DeviceSettings.self,
        errors: [.noSuchDevice])

    package static let deviceCode = Endpoint(
        .get, "/v1/devices/qr", "This device's id as a QR code", nothing, raw(.bytes("image/svg+xml", hasRanges: false))
    )

    /// Takes effect at once; limits on open links, too.
    package static let setDevice = Endpoint(
        .patch, "/v1/devices/settings", "Change a device's settings", body(DeviceChange.self), Done.self,
        errors: [.noSuchDevice])

    /// Takes effect at once, on open links, too. Throws `invalidRequest` for an unknown word.
    package static let setDeviceBluetooth = Endpoint(
        .patch, "/v1/devices/bluetooth", "What a device may be sent over Bluetooth", body(DeviceBluetoothChange.self),
        Done.self, errors: [.noSuchDevice])

    /// Devices seen without a pairing in progress; some ways to find devices work only during one.
    package static let nearby = Endpoint(.get, "/v1/nearby", "Nearby devices", nothing, NearbyList.self)

    /// Lets this device be paired with until it is, its time is over or the calling task is cancelled. One at a time:
    /// throws `busy` during another. `confirmationNeeded` is a refusal here, `pairingRefused` one there; `notPairing` means
    /// that the other device does not wait for it. When it throws, nothing is stored.
    package static let pair = Endpoint(
        .post, "/v1/pair", "Pair for as long as the request lives", body(PairRequest.self), lines(PairEvent.self),
        errors: [
            .busy, .timeout, .confirmationNeeded, .pairingRefused, .pairingMismatch, .pairingFailed, .pairingBlocked,
            .notPairing, .noSuchFolder,
        ], pace: { _ in .prompt })

    package static let pairStatus = Endpoint(.get, "/v1/pair", "The pairing in progress", nothing, PairStatus.self)

    /// Answers the pairing in progress. Throws `notPairing` if there is none, or none with a code to confirm.
    package static let answerPairing = Endpoint(
        .post, "/v1/pair/answer", "Answer it", body(PairAnswer.self), Done.self, errors: [.notPairing])

    /// Sends files, each with a code of its own to compare where the other device is not paired. A file that fails is a
    /// notice; throws when nothing can be sent at all.
    package static let dropSend = Endpoint(
        .post, "/v1/drop/send", "Send files one by one", body(DropSendRequest.self), lines(DropNotice.self),
        errors: [.noSuchDevice, .timeout, .noSuchPath, .confirmationNeeded], pace: { _ in .prompt })

    /// Gives bytes that a notice `wanted` of a transfer asked for, or says why the file cannot be sent. Throws `notFound` if the
    /// transfer does not exist, `rangeNotSatisfiable` for bytes that were not asked for or came already.
    package static let provideDropPart = Endpoint(
        .post, "/v1/drop/part", "Send bytes of a provided file",
        RequestCoding(
            fields: [
                RequestField(name: "session", value: .number(1...Int.max), isRequired: true),
                RequestField(
                    name: "place", value: .number(0...Int.max), isRequired: true, description: "In provided, from 0 on."
                ),
                RequestField(name: "offset", value: .number(0...Int.max), isRequired: true),
                RequestField(
                    name: "problem", value: .oneOf(DropPart.Problem.allCases.map(\.rawValue)),
                    description: "Instead of bytes: why the file cannot be sent."),
            ],
            body: RequestBody(type: nil, isRequired: false),
            query: { $0.query }, encodeBody: { $0.bytes },
            read: { try DropPart($0.query, bytes: $0.body) }),
        Done.self, errors: [.notFound, .rangeNotSatisfiable, .tooLarge])

    /// Takes files until `count` have arrived, nobody has sent for `seconds` (throws `timeout` if none arrived), or the
    /// calling task is cancelled. One at a time: throws `busy`. Takes nothing that was not accepted.
    package static let dropReceive = Endpoint(
        .post, "/v1/drop/receive", "Receive files one by one", body(DropReceiveRequest.self), lines(DropNotice.self),
        errors: [.busy, .timeout], pace: { _ in .prompt })

    /// Throws `invalidRequest` if nothing waits for such an answer.
    package static let answerDrop = Endpoint(
        .post, "/v1/drop/answer", "Answer what a transfer asks", body(DropAnswer.self), Done.self)

    /// Throws `tooLarge` if there are too many.
    package static let invite = Endpoint(
        .post, "/v1/invitations", "Make an invitation", body(InvitationRequest.self), Invitation.self,
        errors: [.noSuchFolder, .tooLarge])

    /// In the order in which they were made, without their codes.
    package static let invitations = Endpoint(
        .get, "/v1/invitations", "Invitations", nothing, InvitationList.self)

    /// Throws `noSuchPath` if there is none with this number.
    package static let revokeInvitation = Endpoint(
        .delete, "/v1/invitations", "Revoke an invitation",
        query(
            QueryPart(
                fields: [RequestField(name: "number", value: .number(1...Int.max), isRequired: true)],
                write: { (number: Int64) in [("number", String(number))] },
                read: { Int64(try $0.count("number") ?? 0) })),
        Done.self, errors: [.noSuchPath])

    /// Uses an invitation; when it throws, nothing is stored here. Throws `invalidRequest` for what is not a code,
    /// `invitationRefused` for one that is not valid, `confirmationNeeded` if its folder is here and would be shared with one more
    /// device, `pairingFailed` and `timeout` for links.
    package static let join = Endpoint(
        .post, "/v1/join", "Use an invitation", body(JoinRequest.self), JoinAnswer.self,
        errors: [.invitationRefused, .confirmationNeeded, .pairingFailed, .timeout])
}
