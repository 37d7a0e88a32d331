import type { Direction } from '../support/tcp-proxy.js';
import type { HistoryCrew } from './history-crew.js';
import { real, type Faults } from './history-rota.js';
import type { HistoryWorker } from './history-worker.js';

/** What can happen to a client process, its clock and its network. Durations go by the lease. */
export function clientFaults(crew: HistoryCrew): Faults {
  const { random, ttlMs } = crew.settings;
  const leases = (low: number, high: number): number => random.between(low, high) * ttlMs;
  const at = (): number => random.whole(0, crew.workers.length - 1);
  const any = (): HistoryWorker => crew.workers[at()] as HistoryWorker;
  return {
    'SIGSTOP beyond the lease': async () => {
      const { child } = any();
      child.pause();
      await real(leases(1.05, 1.8));
      child.resume();
    },
    SIGKILL: () => crew.replace(at()),
    'event loop blocked': () => any().child.call('block', leases(0.5, 1.5)),
    'wall clock set': () => any().child.call('setWall', leases(-2, 2)),
    'silent one way': async () => {
      const { proxies } = any();
      const way = random.pick<Direction>(['up', 'down']);
      const lost = random.chance(0.5);
      for (const proxy of proxies) proxy.silence(way, { lost });
      await real(leases(0.3, 1.5));
      for (const proxy of proxies) proxy.heal();
      for (const proxy of proxies) proxy.reset();
    },
    'silent both ways': async () => {
      const { proxies } = any();
      for (const proxy of proxies) proxy.silence('both');
      await real(leases(0.3, 1.5));
      for (const proxy of proxies) proxy.heal();
    },
    reset: () => Promise.resolve(any().proxies.forEach((proxy) => proxy.reset())),
    slow: async () => {
      const { proxies } = any();
      for (const proxy of proxies) proxy.setWeather({ latencyMs: random.between(2, 30), jitterMs: 20 });
      await real(leases(0.5, 2));
      for (const proxy of proxies) proxy.setWeather({ latencyMs: 0, jitterMs: 0 });
    },
  };
}
