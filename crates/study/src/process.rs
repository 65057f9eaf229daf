//! Processes that outlive a Ctrl-C.

use std::process::Command;

/// Starts a command outside this program's process group, so that Ctrl-C at the terminal does not
/// reach it.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(windows)]
    {
        const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
        std::os::windows::process::CommandExt::creation_flags(command, CREATE_NEW_PROCESS_GROUP);
    }
    command
}
