import { freePorts } from '../free-ports.js';
import { OwnedProcess } from '../owned-process.js';
import { dataFolder, startStore, type Launcher, type StoreProcess } from './store.js';
import { storeProgram } from './store-program.js';

export interface EtcdOptions {
  readonly members?: 1 | 2 | 3;
}

export interface EtcdMember extends StoreProcess {
  readonly name: string;
  /** `127.0.0.1:port` */
  readonly endpoint: string;
}

export interface EtcdCluster {
  readonly endpoints: readonly string[];
  readonly members: readonly EtcdMember[];
  stop(): Promise<void>;
}

interface Place {
  readonly name: string;
  readonly port: number;
  readonly client: string;
  readonly peer: string;
}

/** An etcd of one member, or a cluster of three; resolves when every member sees a leader. */
export async function startEtcd({ members: size = 1 }: EtcdOptions = {}): Promise<EtcdCluster> {
  const program = await storeProgram('etcd');
  const ports = await freePorts(2 * size);
  const places = Array.from({ length: size }, (_, i): Place => {
    const port = ports[2 * i]!;
    const peer = ports[2 * i + 1]!;
    return { name: `n${i}`, port, client: `127.0.0.1:${port}`, peer: `127.0.0.1:${peer}` };
  });
  const cluster = places.map((place) => `${place.name}=http://${place.peer}`).join(',');
  const started = await Promise.allSettled(places.map((place) => startMember(program, place, cluster)));
  const members = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const stop = async (): Promise<void> => void (await Promise.all(members.map((member) => member.stop())));
  for (const result of started) {
    if (result.status === 'fulfilled') continue;
    await stop();
    throw result.reason;
  }
  return { endpoints: places.map((place) => place.client), members, stop };
}

async function startMember(program: string, place: Place, cluster: string): Promise<EtcdMember> {
  const store = await startStore(launcher(program, place, cluster));
  return Object.assign(store, { name: place.name, endpoint: place.client });
}

function launcher(program: string, { name, port, client, peer }: Place, cluster: string): Launcher {
  const folder = dataFolder('etcd');
  const args = [
    ['--name', name, '--data-dir', folder],
    ['--listen-client-urls', `http://${client}`, '--advertise-client-urls', `http://${client}`],
    ['--listen-peer-urls', `http://${peer}`, '--initial-advertise-peer-urls', `http://${peer}`],
    ['--initial-cluster', cluster, '--initial-cluster-state', 'new', '--initial-cluster-token', cluster],
    ['--heartbeat-interval', '50', '--election-timeout', '500', '--unsafe-no-fsync'],
    ['--log-level', 'warn', '--logger', 'zap'],
  ].flat();
  // etcd 3.4 starts on nothing but amd64 unless told that we know
  const env = process.arch === 'x64' ? process.env : { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch };
  return {
    port,
    folder,
    launch: () => OwnedProcess.start(program, args, { cwd: folder, env }),
    probe: () => isHealthy(client),
  };
}

async function isHealthy(client: string): Promise<boolean> {
  const response = await fetch(`http://${client}/health`, { signal: AbortSignal.timeout(1_000) });
  const { health } = (await response.json()) as { health: string };
  return response.ok && health === 'true';
}
