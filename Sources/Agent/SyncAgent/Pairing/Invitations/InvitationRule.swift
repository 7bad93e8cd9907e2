import AgentConfiguration
import BlockExchange
import IndexStore

/// Whether a change of the configuration completes or withdraws an invitation that was used. Pure.
///
/// An invitation stores its device once. A person's later decision about the device counts for more: removing, ignoring or unsharing it,
/// or changing its role, withdraws the invitation. The same code then undoes nothing.
enum InvitationRule {
    enum Outcome: Equatable {
        /// The configuration has what the invitation promised: it changes nothing any more.
        case stored
        case withdrawn
    }

    /// - Returns: Nil where the invitation stays as it is.
    static func outcome(
        of invitation: StoredInvitation, from old: Configuration, to new: Configuration
    ) -> Outcome? {
        guard let device = invitation.device else { return nil }
        let isKnown = new.devices.contains { $0.id == device }
        let wasKnown = invitation.isStored || old.devices.contains { $0.id == device }
        if new.ignored.contains(device) || (wasKnown && !isKnown) { return .withdrawn }
        // Without its folder it is good for nothing. A folder whose index is reset goes for a moment.
        guard let folder = new.folders.first(where: { $0.id == invitation.folder }) else { return nil }
        let role = role(of: device, in: folder)
        if isKnown, role?.rawValue == invitation.role { return invitation.isStored ? nil : .stored }
        if invitation.isStored { return .withdrawn }
        // Its use was cut off in the middle, and may be repeated if nothing was said of the device since.
        guard let before = old.folders.first(where: { $0.id == invitation.folder }) else { return nil }
        return self.role(of: device, in: before) == role ? nil : .withdrawn
    }

    /// Nil where the folder is not shared with the device.
    private static func role(of device: DeviceID, in folder: FolderConfiguration) -> DeviceRole? {
        folder.devices.contains(device) ? folder.role(of: device) : nil
    }
}
