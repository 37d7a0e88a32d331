import { Counter, Gauge, Registry, register } from 'prom-client';
import { FakeClock, METRICS, createKlock, isLockError, type KlockInstance } from '../../core/index.js';
import { memoryDriver } from '../../drivers/memory/index.js';
import { prometheusTelemetry } from './index.js';

let registry: Registry;
let clock: FakeClock;

function open(): KlockInstance {
  return createKlock({ driver: memoryDriver(), telemetry: prometheusTelemetry({ registry }), clock });
}

beforeEach(() => {
  registry = new Registry();
  clock = new FakeClock();
});

describe('prometheusTelemetry', () => {
  it('[L-67] [L-69] shows acquires, releases, levels and durations in seconds as Prometheus names them', async () => {
    const lock = await open().acquire('secret');
    await clock.advance(250);
    expect(await registry.metrics()).toContain('klock_held{driver="memory"} 1');
    await lock.release();
    const text = await registry.metrics();
    expect(text).toContain('klock_acquire_total{driver="memory",outcome="granted"} 1');
    expect(text).toContain('klock_release_total{driver="memory",outcome="released"} 1');
    expect(text).toContain('klock_held{driver="memory"} 0');
    expect(text).toContain('klock_hold_duration_seconds_sum{driver="memory",outcome="released"} 0.25');
    expect(text).not.toContain('secret');
  });

  it('registers every figure of the catalogue once, however many instances report there', async () => {
    const [one, other] = [open(), open()];
    await one.tryAcquire('k');
    await other.tryAcquire('k');
    expect(registry.getMetricsAsArray()).toHaveLength(Object.keys(METRICS).length);
    expect(await registry.metrics()).toContain('klock_held{driver="memory"} 2');
  });

  it('takes the global registry where none is named', () => {
    register.clear();
    prometheusTelemetry();
    expect(register.getSingleMetric('klock_acquire_total')).toBeInstanceOf(Counter);
    register.clear();
  });

  it('leaves out a name it does not know', () => {
    expect(() => prometheusTelemetry({ registry }).count('klock.nonsense', {})).not.toThrow();
  });

  it.each([[{ registry: undefined }], [{ registry: {} }], [{ register: 1 }], [null]])(
    '[L-77] refuses %j',
    (options) => {
      expect(codeOf(() => prometheusTelemetry(options as never))).toBe('INVALID_OPTION');
    },
  );

  it('refuses a registry in which something else has one of its names, and says which', () => {
    new Gauge({ name: 'klock_acquire_total', help: 'mine', registers: [registry] });
    expect(() => prometheusTelemetry({ registry })).toThrow(/klock_acquire_total/);
  });
});

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return isLockError(error) ? error.code : String(error);
  }
}
