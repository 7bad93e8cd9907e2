import Phrases

/// What becomes of two versions of a file neither of which was made of the other, on the device whose version loses.
package struct FolderConflicts: Equatable, Sendable {
    package enum Policy: String, Sendable, CaseIterable {
        /// The newer one stays, and the other becomes a conflict copy; of a deletion and an edit, the edit stays.
        case newest
        /// What is here stays, on all devices.
        case mine
        /// What comes stays, on all devices.
        case theirs
        /// As `newest`, and the copy gets an ordinary name.
        case both
        /// As `newest`, and then `command` is asked.
        case command
    }

    /// For files that were changed on both devices.
    package var policy: Policy
    /// For files that were deleted here and changed there.
    package var deletedPolicy: Policy
    /// A program, by its absolute path, and its first arguments.
    package var command: [String]
    /// How long the program may take.
    package var commandSeconds: Int

    package init(
        policy: Policy = .newest, deletedPolicy: Policy = .newest, command: [String] = [], commandSeconds: Int = 60
    ) {
        self.policy = policy
        self.deletedPolicy = deletedPolicy
        self.command = command
        self.commandSeconds = commandSeconds
    }

    func problem() -> (key: String, problem: SettingProblem)? {
        for (key, policy) in [("conflicts", policy), ("conflicts-deleted", deletedPolicy)]
        where policy == .command && command.isEmpty {
            return (
                key,
                SettingProblem(
                    .invalidValue, "`\(key) = \"command\"` needs `conflicts-command = [\"/path/of/program\"]`; write it"
                )
            )
        }
        if let program = command.first, !program.hasPrefix("/") || !command.allSatisfy({ !$0.utf8.contains(0) }) {
            return (
                "conflicts-command",
                SettingProblem(
                    .invalidValue,
                    "the first word must be the full path of the program, for example "
                        + "/usr/local/bin/decide")
            )
        }
        guard command.count <= 100, command.allSatisfy({ $0.utf8.count < 4096 }) else {
            return ("conflicts-command", SettingProblem(.invalidValue, "the command is too long; call a script"))
        }
        guard (1...3600).contains(commandSeconds) else {
            return (
                "conflicts-command-seconds",
                SettingProblem(.invalidValue, "the time limit of the command must be between 1 and 3600 seconds")
            )
        }
        return nil
    }
}
