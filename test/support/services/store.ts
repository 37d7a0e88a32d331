import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reapFolder } from '../reaper.js';
import type { OwnedProcess } from '../owned-process.js';

/** One running store process on a port of 127.0.0.1 that it keeps over restarts. */
export interface StoreProcess {
  readonly port: number;
  readonly pid: number;
  /** SIGKILL: no goodbye, connections are reset. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data, killing it first if it runs; resolves when it answers. */
  restart(): Promise<void>;
  /** SIGSTOP: connections stay open and nothing answers. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

export interface Launcher {
  readonly port: number;
  readonly folder: string;
  launch(): OwnedProcess;
  /** True once the store answers. */
  probe(): Promise<boolean>;
  /** How to end it for good; SIGKILL unless said. */
  readonly endSignal?: NodeJS.Signals;
}

/** A new folder below the system's temporary one, removed with the store or when the tests end. */
export function dataFolder(store: string, owner?: { uid: number; gid: number }): string {
  const folder = mkdtempSync(join(tmpdir(), `klock-${store}-`));
  if (owner) chownSync(folder, owner.uid, owner.gid);
  reapFolder(folder);
  return folder;
}

/** Starts the store and waits until it answers. */
export async function startStore(launcher: Launcher): Promise<StoreProcess> {
  let running = launcher.launch();
  const ready = (): Promise<void> => running.ready(() => launcher.probe());
  const store: StoreProcess = {
    port: launcher.port,
    get pid() {
      return running.pid;
    },
    kill: async () => void (await running.kill()),
    restart: async () => {
      await running.kill();
      running = launcher.launch();
      await ready();
    },
    pause: () => running.pause(),
    resume: () => running.resume(),
    stop: async () => {
      running.resume();
      await running.kill(launcher.endSignal);
      rmSync(launcher.folder, { recursive: true, force: true });
    },
  };
  try {
    await ready();
  } catch (error) {
    await store.stop();
    throw error;
  }
  return store;
}
