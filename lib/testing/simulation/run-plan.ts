import type { EngineCommand, Outcome } from '../../engine/index.js';
import { assert, formatKey, settle, type LockKey } from '../../core/index.js';
import { checkHistory, HistoryRecorder } from '../history/index.js';
import { BeliefLedger } from './belief-ledger.js';
import type { Finding, Invariant } from './finding.js';
import { Network } from './network.js';
import type { Fault, Plan, Task } from './plan.js';
import { SeededRandom } from './seeded-random.js';
import { SimClient, type ClientWorld } from './sim-client.js';
import { SimNode } from './sim-node.js';
import { StoreWatch } from './store-watch.js';
import type { SimSystem, Stage, SystemFactory } from './system.js';
import { Timeline } from './timeline.js';

/** What came out of one run. */
export interface RunResult {
  readonly plan: Plan;
  readonly finding: Finding | undefined;
  /** True milliseconds simulated. */
  readonly simulatedMs: number;
  readonly events: number;
  readonly grants: number;
  readonly writes: number;
  readonly refusedWrites: number;
  /** What happened, line by line; empty unless asked for. */
  readonly trace: readonly string[];
}

export interface RunOptions {
  readonly trace?: boolean;
}

/** Carries out a plan on a system; the run ends at the first breach of an invariant. Replays exactly. */
export async function runPlan(
  plan: Plan,
  makeSystem: SystemFactory,
  options: RunOptions = {},
): Promise<RunResult> {
  const run = new Run(plan, makeSystem, options.trace === true);
  await run.toEnd();
  // Once a run: whoever waits for the process itself, timeouts and progress, gets a turn.
  await settle();
  return run.result;
}

/** What is left after the last task: the longest wait, a lease, and then some. */
const TAIL_LEASES = 5;
const TAIL_MS = 10_000;
const CLOSING_MS = 10_000;

class Run {
  private readonly timeline = new Timeline();
  private readonly history = new HistoryRecorder();
  private readonly trace: string[] = [];
  private readonly system: SimSystem;
  private readonly stage: Stage;
  private readonly beliefs: BeliefLedger;
  private readonly watch: StoreWatch;
  private readonly world: ClientWorld;
  private readonly clients: SimClient[] = [];
  private finding: Finding | undefined = undefined;
  private serverBusy = false;
  private asked = 0;

  constructor(
    private readonly plan: Plan,
    makeSystem: SystemFactory,
    private readonly traced: boolean,
  ) {
    const { timeline } = this;
    const random = new SeededRandom(plan.seed + 0x5eed);
    const network = new Network(timeline, random.fork(), plan.noise, plan.calmFromMs);
    const server = new SimNode('server', timeline, plan.store.clock);
    const report = (invariant: Invariant, message: string): void => this.report(invariant, message);
    this.beliefs = new BeliefLedger(() => timeline.nowMs, this.history, report);
    this.watch = new StoreWatch(this.beliefs, report);
    this.stage = {
      plan,
      timeline,
      network,
      server,
      random,
      note: (line) => this.note(line),
      witness: (command, outcome, nowMs) => {
        this.noteDecision(command, outcome);
        this.watch.see(command, outcome, nowMs);
      },
    };
    this.system = makeSystem(this.stage);
    const trueTime = new SimNode('resource', timeline, { rate: 1, monoMs: 0, wallMs: 0 });
    this.world = {
      stage: this.stage,
      system: this.system,
      beliefs: this.beliefs,
      resource: this.system.makeResource(trueTime.clock),
      resourceNode: trueTime,
      report,
      someoneElse: (client) => this.clients.find((other) => other !== client) ?? client,
      note: (line) => this.note(line),
      wrote: (key, fence, accepted) => this.wrote(key, fence, accepted),
    };
  }

  get result(): RunResult {
    const { plan, finding, timeline, history, trace } = this;
    return {
      plan,
      finding,
      simulatedMs: timeline.nowMs,
      events: timeline.events,
      grants: history.grants.length,
      writes: history.writes.length,
      refusedWrites: this.asked - history.writes.length,
      trace,
    };
  }

  async toEnd(): Promise<void> {
    const { plan } = this;
    this.system.startServer();
    plan.clients.forEach((_, index) => this.addClient(index, `c${index + 1}`));
    for (const fault of plan.faults) this.timeline.at(fault.atMs, () => this.strike(fault));
    for (const task of plan.tasks) this.timeline.at(task.atMs, () => this.begin(task));
    const endMs = plan.durationMs + TAIL_LEASES * plan.ttlMs + TAIL_MS;
    await this.advance(endMs);
    if (this.finding === undefined) this.judgeQuiet();
    if (this.finding === undefined) await this.shutDown(endMs);
    if (this.finding === undefined) this.judgeHistory();
  }

  private advance(endMs: number): Promise<void> {
    return this.timeline.run(endMs, () => this.finding !== undefined);
  }

  private addClient(index: number, name: string): void {
    const shape = (this.plan.clients[index] as Plan['clients'][number]).clock;
    this.clients[index] = new SimClient(this.world, new SimNode(name, this.timeline, shape), index);
  }

  private begin(task: Task): void {
    const client = this.clients[task.client];
    client?.node.deliver(() => void client.run(task));
  }

  private strike(fault: Fault): void {
    this.note(() => `fault: ${JSON.stringify(fault)}`);
    if (fault.what === 'drain') return this.drain(fault.limitMs, fault.forMs);
    if (fault.who === 'server' && fault.what === 'kill') return this.killServer(fault.quiet, fault.forMs);
    const node = this.nodeOf(fault.who);
    if (node?.alive !== true) return;
    switch (fault.what) {
      case 'pause':
        return node.pause(fault.forMs);
      case 'suspend':
        return node.suspend(fault.forMs);
      case 'step-wall':
        return node.clock.stepWall(fault.byMs);
      case 'slow':
        return this.system.slow(node, this.timeline.nowMs + fault.forMs);
      case 'cut':
        return this.cut(node, fault.way, this.timeline.nowMs + fault.forMs);
      case 'reset':
        return this.system.reset(node, fault.quiet);
      case 'kill':
        return this.replaceClient(node, fault.quiet);
    }
  }

  private nodeOf(who: string): SimNode | undefined {
    if (who === 'server') return this.stage.server;
    return this.clients.find(({ node }) => node.name === who || node.name.startsWith(`${who}.`))?.node;
  }

  private cut(node: SimNode, way: 'up' | 'down' | 'both', untilMs: number): void {
    const { network, server } = this.stage;
    if (way !== 'down') network.cut(node, server, untilMs);
    if (way !== 'up') network.cut(server, node, untilMs);
  }

  private replaceClient(node: SimNode, quiet: boolean): void {
    const index = this.clients.findIndex((client) => client.node === node);
    this.beliefs.endAllOf(node);
    node.kill();
    this.system.reset(node, quiet);
    this.addClient(index, `${node.name}.`);
  }

  private killServer(quiet: boolean, downMs: number): void {
    const { server } = this.stage;
    if (!server.alive) return;
    server.kill();
    this.watch.newLife();
    this.system.serverKilled(quiet);
    this.startLater(downMs);
  }

  private drain(limitMs: number, downMs: number): void {
    const { server } = this.stage;
    if (!server.alive || this.serverBusy) return;
    this.serverBusy = true;
    const { life } = server;
    server.deliver(() => {
      void this.system.drainServer(limitMs).then(() => {
        this.serverBusy = false;
        if (!server.alive || server.life !== life) return;
        this.note(() => 'the server has ended in order');
        server.kill();
        this.watch.newLife();
        this.system.serverKilled(false);
        this.startLater(downMs);
      });
    });
  }

  private startLater(downMs: number): void {
    const { timeline } = this;
    timeline.at(timeline.nowMs + downMs, () => {
      this.serverBusy = false;
      this.note(() => 'the server starts');
      this.stage.server.restart();
      this.system.startServer();
    });
  }

  /** Everything that was asked is answered, and the store holds nothing that nobody knows of (I7). */
  private judgeQuiet(): void {
    for (const { waiting, node } of this.clients) {
      for (const [task, byMs] of waiting)
        this.report('I7', `${node.name} was not answered about task ${task} by ${Math.round(byMs)} ms`);
    }
    const believed = this.beliefs.all();
    for (const grant of this.watch.held) {
      if (believed.length > 0 && this.beliefs.holdersOf(grant.key, grant.fence, grant.span).length > 0)
        continue;
      this.report(
        'I7',
        `the store holds ${formatKey(grant.key)} with fence ${grant.fence}, and nobody knows`,
      );
    }
  }

  /** All clients leave; nothing stays behind (I12). */
  private async shutDown(endMs: number): Promise<void> {
    for (const { klock } of this.clients) void klock.close({ graceMs: 1 });
    await this.advance(endMs + CLOSING_MS + 3 * this.plan.ttlMs);
    if (this.finding !== undefined) return;
    const {
      remembered: _,
      endedSessions: __,
      ...left
    } = this.system.stats() ?? {
      remembered: 0,
      endedSessions: 0,
    };
    for (const [what, count] of Object.entries(left))
      if (count > 0) this.report('I12', `${count} ${what} stay behind in the store`);
    for (const { node } of this.clients)
      if (node.clock.timers > 0)
        this.report('I12', `${node.clock.timers} timers of ${node.name} stay behind`);
  }

  private judgeHistory(): void {
    // Of a store nobody looks at, half of the invariants would hold whatever it does.
    assert(
      this.history.grants.length === 0 || this.watch.decisions > 0,
      'the decisions of the store are seen',
    );
    const [violation] = checkHistory(this.history, { toleranceMs: 1e-6 });
    if (violation !== undefined) this.report(violation.invariant, violation.message);
  }

  private wrote(key: LockKey, fence: bigint, accepted: boolean): void {
    this.asked++;
    if (accepted) this.history.write({ key, fence, atMs: this.timeline.nowMs });
  }

  private report(invariant: Invariant, message: string): void {
    if (this.finding !== undefined) return;
    this.finding = { invariant, message, atMs: this.timeline.nowMs };
    this.note(() => `${invariant}: ${message}`);
  }

  /** Renewals and instants that changed nothing would be most of the story. */
  private noteDecision({ type, ...command }: EngineCommand, { answer, effects }: Outcome): void {
    if (effects.length === 0 && (type === 'wake' || type === 'hold-grants' || answer?.type === 'session'))
      return;
    this.note(
      () =>
        `store: ${type} ${plain(command)} -> ${plain(answer)}${effects.map((effect) => `; ${plain(effect)}`).join('')}`,
    );
  }

  private note(line: () => string): void {
    if (this.traced) this.trace.push(`${this.timeline.nowMs.toFixed(1).padStart(10)} ms  ${line()}`);
  }
}

/** A fence is no JSON; a token or session id is known by its beginning. */
function plain(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
  return (text ?? '').replace(/[0-9a-f]{32}/g, (id) => id.slice(0, 6)).replaceAll('"', '');
}
