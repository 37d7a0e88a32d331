import { mkdtemp, rm, symlink, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BackendStateError, quote } from '../../core/index.js';

const NAME = 'lock.sock';
/** The kernel takes 107 bytes on Linux and 103 on macOS. */
const MAX_SOCKET_PATH_BYTES = 100;

/** Holds a directory for this process: a socket listening in it, gone with the process however it ends. */
export class DirectorySocket {
  private constructor(
    private readonly server: Server,
    private readonly detour: string | undefined,
  ) {}

  /** @throws BackendStateError where another living process holds the directory. */
  static async hold(directory: string): Promise<DirectorySocket> {
    const detour =
      Buffer.byteLength(join(directory, NAME)) > MAX_SOCKET_PATH_BYTES
        ? await shortPath(directory)
        : undefined;
    const path = join(detour === undefined ? directory : join(detour, 'd'), NAME);
    try {
      if (await answers(path)) throw taken(directory);
      await unlink(path).catch(ignoreMissing);
      return new DirectorySocket(await listen(path, directory), detour);
    } catch (error) {
      if (detour !== undefined) await rm(detour, { recursive: true, force: true });
      throw error;
    }
  }

  /** Lets the directory go. */
  async release(): Promise<void> {
    // Removes the socket file too.
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
    if (this.detour !== undefined) await rm(this.detour, { recursive: true, force: true });
  }
}

/** A short way to a directory whose own path is too long for a socket address. */
async function shortPath(directory: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'klock-'));
  await symlink(directory, join(folder, 'd'));
  return folder;
}

/** Whether somebody listens there. Anything but a plain "nobody" counts as somebody. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT');
    });
  });
}

function listen(path: string, directory: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    // Whoever connects only wants to know that somebody is here.
    const server = createServer((socket) => socket.on('error', () => undefined).destroy());
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(
        cause.code === 'EADDRINUSE'
          ? taken(directory)
          : new BackendStateError(`state directory ${quote(directory)} cannot be locked`, { cause }),
      );
    });
    server.listen(path, () => {
      server.on('error', () => undefined);
      server.unref();
      resolve(server);
    });
  });
}

function taken(directory: string): BackendStateError {
  return new BackendStateError(`state directory ${quote(directory)} is in use by another server`, {
    code: 'BACKEND_MISCONFIGURED',
  });
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
