//! Confinement of a process once its switch is open: it keeps its sockets, and little else.
//!
//! [`confine`] applies to a whole process with all its threads. A single thread gives up its
//! capabilities with [`drop_privileges`](crate::drop_privileges).

use std::io;

use crate::error::Error;
use crate::sys::{filter, process, user};

/// Rights that a process keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// User to become; `None` to keep the current user.
    pub user: Option<User>,
    /// Whether to filter system calls to those that a running switch makes.
    pub is_filtered: bool,
    /// Whether a crash may write the memory, which contains packets, to a file.
    pub dumps_core: bool,
}

/// A user and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    uid: u32,
    gid: u32,
}

impl User {
    /// The user with this name or number.
    pub fn find(name: &str) -> Result<Self, Error> {
        let found = user::find(name);
        let found =
            found.map_err(Error::system(format!("look up user {name}"), "no capability"))?;
        if let Some((uid, gid)) = found {
            return Ok(Self { uid, gid });
        }
        // To the kernel the largest number means the current user.
        let number = name.parse().ok().filter(|&number| number != u32::MAX);
        let number = number.ok_or_else(|| {
            let why =
                "no such user; `root` keeps the user of the process, and a numeric id needs no entry";
            Error::System {
                action: format!("become user {name}"),
                error: io::Error::new(io::ErrorKind::NotFound, why),
            }
        })?;
        Ok(Self { uid: number, gid: number })
    }

    /// The user `nobody`, without rights of its own.
    pub fn nobody() -> Self {
        Self::find("nobody").unwrap_or(Self { uid: 65_534, gid: 65_534 })
    }

    /// Whether this is root.
    pub const fn is_root(self) -> bool {
        self.uid == 0
    }

    /// The user that this process runs as.
    pub fn current() -> Self {
        let (uid, gid) = user::current();
        Self { uid, gid }
    }
}

impl Default for Confinement {
    /// Minimal rights for a switch, as the current user.
    fn default() -> Self {
        Self { user: None, is_filtered: true, dumps_core: false }
    }
}

/// Gives up, permanently and for all threads, all rights that are not in `confinement`. Open
/// sockets and files stay. No thread may have given up its own capabilities before: it could not
/// become the new user with the others, and the process would end.
pub fn confine(confinement: &Confinement) -> Result<(), Error> {
    if let Some(User { uid, gid }) = confinement.user {
        let action = format!("become user {uid}");
        let became = process::become_user(uid, gid);
        became.map_err(|(error, capability)| Error::system(action, capability)(error))?;
    }
    // Comes after the change of user, which resets this depending on the system's configuration.
    let decided = process::decide_core_dumps(confinement.dumps_core);
    decided.map_err(Error::system("turn core dumps on or off", "no capability"))?;
    let dropped = process::drop_capabilities();
    dropped.map_err(Error::system("drop privileges", "no capability"))?;
    if confinement.is_filtered {
        let filtered = filter::for_process();
        filtered.map_err(Error::system("filter system calls", "no capability"))?;
    }
    Ok(())
}

/// Like [`confine`], for a process without a configured user. If it may not change its user, such
/// as root in a container, it keeps its user without capabilities, and this returns the reason.
pub fn confine_as_may_be(confinement: &Confinement) -> Result<Option<Error>, Error> {
    let Err(why) = confine(confinement) else {
        return Ok(None);
    };
    let user = None;
    confine(&Confinement { user, ..confinement.clone() })?;
    Ok(Some(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_by_number() {
        let root = User::find("root").unwrap();
        assert_eq!((root.uid, root.is_root()), (0, true));
        assert_eq!(
            User::find("4000111222").unwrap(),
            User { uid: 4_000_111_222, gid: 4_000_111_222 }
        );
        let error = User::find("no-such-user").unwrap_err().to_string();
        assert!(error.starts_with("cannot become user no-such-user: no such user"), "{error}");
        assert!(User::find("no\0user").is_err());
        // The kernel takes this number for the current user: the process would stay root.
        assert!(User::find("4294967295").is_err());
    }
}
