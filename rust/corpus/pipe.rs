//! Reading from standard input and other pipes without being stuck in them.
//!
//! A read from a pipe can block for ever, so a thread of its own does it and
//! whoever waits looks at the meter. That thread is not joined: a stopped job
//! leaves it in its read until the pipe or the process ends. Where the system
//! gives no thread, the pipe is read directly: a stop then waits for its bytes.

use std::io::{Error, Read, Result};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::{BLOCK_BYTES, Meter};

/// How long a reader waits before it looks whether it should stop.
const WAIT: Duration = Duration::from_millis(20);

/// The end of a pipe that can be stopped.
pub(super) struct Pipe {
    blocks: Blocks,
    current: Vec<u8>,
    used: usize,
    meter: Arc<Meter>,
}

/// Where the bytes come from.
enum Blocks {
    Thread(Receiver<Result<Vec<u8>>>),
    Direct(Box<dyn Read + Send>),
}

impl Pipe {
    /// Starts to read what `open` opens, one block ahead. Opening is part of
    /// it: a named pipe opens only when someone writes to it.
    pub fn new<R: Read + Send + 'static>(
        open: impl Fn() -> Result<R> + Send + Sync + 'static,
        meter: Arc<Meter>,
    ) -> Result<Self> {
        let (sender, blocks) = sync_channel(1);
        let open = Arc::new(open);
        let open_there = Arc::clone(&open);
        let thread = std::thread::Builder::new().name("sentitok-pipe".to_owned()).spawn(move || {
            let mut input = match open_there() {
                Ok(input) => input,
                Err(error) => {
                    // Fails only if nobody waits for it any more.
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            loop {
                // Not `read_to_end`: what a slow pipe has given should not wait.
                let mut block = vec![0; BLOCK_BYTES / 16];
                let result = match input.read(&mut block) {
                    Ok(0) => return,
                    Ok(n) => {
                        block.truncate(n);
                        Ok(block)
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = result.is_err();
                // The receiver is gone when the job has ended: so do we.
                if sender.send(result).is_err() || failed {
                    return;
                }
            }
        });
        let blocks = match thread {
            Ok(_) => Blocks::Thread(blocks),
            Err(_) => Blocks::Direct(Box::new(open()?)),
        };
        Ok(Self { blocks, current: Vec::new(), used: 0, meter })
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let blocks = match &mut self.blocks {
            Blocks::Thread(blocks) => blocks,
            Blocks::Direct(_) if self.meter.is_stopped() => return Err(Error::other("stopped")),
            Blocks::Direct(input) => return input.read(buffer),
        };
        while self.used == self.current.len() {
            match blocks.recv_timeout(WAIT) {
                Ok(block) => (self.current, self.used) = (block?, 0),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) if self.meter.is_stopped() => {
                    return Err(Error::other("stopped"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        let n = buffer.len().min(self.current.len() - self.used);
        buffer[..n].copy_from_slice(&self.current[self.used..self.used + n]);
        self.used += n;
        Ok(n)
    }
}
