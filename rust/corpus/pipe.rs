//! Reads standard input and other pipes so that a job can stop while it waits for them.
//!
//! A read from a pipe can block forever, so a separate thread reads, and the waiting thread checks
//! the meter. The reading thread is not joined: after a stop it remains in its read until the pipe
//! or the process ends. If the system cannot start a thread, the pipe is read directly, and a stop
//! waits for its bytes.

use std::io::{Error, Read, Result};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::{BLOCK_BYTES, Meter};

/// How often a waiting reader checks for a request to stop.
const WAIT: Duration = Duration::from_millis(20);

/// A pipe whose reader can be stopped.
pub(super) struct Pipe {
    blocks: Blocks,
    current: Vec<u8>,
    used: usize,
    meter: Arc<Meter>,
}

/// The origin of the bytes.
enum Blocks {
    Thread(Receiver<Result<Vec<u8>>>),
    Direct(Box<dyn Read + Send>),
}

impl Pipe {
    /// Starts to read one block ahead from what `open` opens. Opening is done in the thread,
    /// because a named pipe only opens when someone writes to it.
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
                    // Fails only if the receiver is gone.
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            loop {
                // Does not use `read_to_end`, so that the bytes of a slow pipe arrive promptly.
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
                // The receiver is gone if the job has ended.
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
