// MARK: - Uploads

extension Endpoints {
    static let uploadEndpoints: [any AnyEndpoint] = [uploads, beginUpload, addToUpload, endUpload, cancelUpload]

    /// The uploads that the session has begun; with a folder, whether it takes any.
    package static let uploads = Endpoint(
        .get, "/v1/uploads", "Uploads that are not finished",
        bound(
            query(Query.folder).of({ UploadQuery(folder: $0) }, { $0.folder }), \.session), UploadList.self,
        errors: [.noSuchFolder])

    /// Begins an upload, or goes on with an earlier one of the same file. Throws `alreadyExists` for a name that is taken,
    /// `noPermission` where files that are added here are not sent, `noSpace` for what does not fit, and what the selection says.
    package static let beginUpload = Endpoint(
        .post, "/v1/uploads", "Begin to upload a file, or resume", bound(body(UploadRequest.self), \.session),
        UploadAnswer.self,
        errors: [
            .noSuchFolder, .alreadyExists, .noPermission, .noSpace, .folderHalted, .overruled, .inexpressiblePath,
        ])

    /// Adds bytes at the end of what has arrived. Throws `rangeNotSatisfiable` for any other offset.
    package static let addToUpload = Endpoint(
        .post, "/v1/uploads/part", "Add the next bytes",
        RequestCoding(
            fields: [
                RequestField(name: "upload", value: .text(length: 64...64), isRequired: true),
                RequestField(name: "offset", value: .number(0...Int.max), isRequired: true),
            ],
            body: RequestBody(type: nil, isRequired: true),
            query: { [("upload", $0.upload), ("offset", String($0.offset))] }, encodeBody: { $0.bytes },
            read: { incoming in
                guard let offset = Int64(try incoming.query.required("offset")), offset >= 0 else {
                    throw ControlError(.invalidRequest, "offset must be the byte at which the part begins, from 0 on")
                }
                return UploadPart(
                    upload: try incoming.query.required("upload"), offset: offset, bytes: incoming.body,
                    session: incoming.session)
            }),
        UploadAnswer.self, errors: [.notFound, .rangeNotSatisfiable, .tooLarge, .noSpace, .busy])

    /// Checks the file and puts it into its place, selected and announced. Throws `digestDiffers` if it is not what the client
    /// has: the upload is over then.
    package static let endUpload = Endpoint(
        .post, "/v1/uploads/end", "Put the uploaded file into its place", bound(body(UploadEnd.self), \.session),
        UploadedFile.self,
        errors: [.notFound, .rangeNotSatisfiable, .digestDiffers, .alreadyExists, .noPermission, .noSpace, .busy])

    package static let cancelUpload = Endpoint(
        .delete, "/v1/uploads", "Cancel an upload",
        bound(query(Query.text("upload")).of({ UploadCancel(upload: $0) }, { $0.upload }), \.session), Done.self,
        errors: [.notFound])

    /// The same with the session that asks, which no client can choose.
    private static func bound<Request: Sendable>(
        _ coding: RequestCoding<Request>, _ session: WritableKeyPath<Request, String?> & Sendable
    ) -> RequestCoding<Request> {
        var bound = coding
        bound.read = { incoming in
            var request = try coding.read(incoming)
            request[keyPath: session] = incoming.session
            return request
        }
        return bound
    }
}
