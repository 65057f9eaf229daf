//! What a process keeps once its switch is open: its sockets, and little else.
//!
//! [`confine`] is for a whole process, all of whose threads it binds. A thread alone gives its
//! capabilities up with [`drop_privileges`](crate::drop_privileges).

use std::io;

use crate::error::Error;
use crate::sys::{filter, process, user};

/// What a process is left with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// The user to become; `None` to stay who it is.
    pub user: Option<User>,
    /// Whether the system refuses every call that a running switch does not make.
    pub is_filtered: bool,
    /// Whether a crash may write the memory, packets among it, to a file.
    pub dumps_core: bool,
}

/// A user and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    uid: u32,
    gid: u32,
}

impl User {
    /// The user of this name or number.
    pub fn find(name: &str) -> Result<Self, Error> {
        let found = user::find(name);
        let found =
            found.map_err(Error::system(format!("look up user {name}"), "no capability"))?;
        if let Some((uid, gid)) = found {
            return Ok(Self { uid, gid });
        }
        // To the kernel the largest number means: whoever the process is.
        let number = name.parse().ok().filter(|&number| number != u32::MAX);
        let number = number.ok_or_else(|| {
            let why =
                "there is no such user; `root` stays what the process is, a number needs no entry";
            Error::System {
                action: format!("become user {name}"),
                error: io::Error::new(io::ErrorKind::NotFound, why),
            }
        })?;
        Ok(Self { uid: number, gid: number })
    }

    /// The user without rights of its own, `nobody`.
    pub fn nobody() -> Self {
        Self::find("nobody").unwrap_or(Self { uid: 65_534, gid: 65_534 })
    }

    /// Whether it is the one that may do everything.
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
    /// As little as a switch needs, as whoever runs it.
    fn default() -> Self {
        Self { user: None, is_filtered: true, dumps_core: false }
    }
}

/// Gives up, for good and for all threads, what is not in `confinement`. Open sockets and files
/// stay. No thread may have given up its own capabilities before: it could not become the user that
/// the others become, and the process would end.
pub fn confine(confinement: &Confinement) -> Result<(), Error> {
    if let Some(User { uid, gid }) = confinement.user {
        let action = format!("become user {uid}");
        let became = process::become_user(uid, gid);
        became.map_err(|(error, capability)| Error::system(action, capability)(error))?;
    }
    // Becoming another user decides about it too, as the system is configured, so this comes later.
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

/// The same where nobody was named to become: a process that may not become another user, such as
/// root in a container, stays who it is, without capabilities, and this returns why.
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
        assert!(
            error.starts_with("cannot become user no-such-user: there is no such user"),
            "{error}"
        );
        assert!(User::find("no\0user").is_err());
        // The kernel takes this number for who the process is: it would stay root.
        assert!(User::find("4294967295").is_err());
    }
}
