import { Injectable, Module, Scope } from '@nestjs/common';
import { ModuleRef, NestFactory } from '@nestjs/core';
import {
  CurrentLock,
  KlockModule,
  Locked,
  bindLocks,
  type Klock,
  type LockHandle,
  getKlockToken,
} from 'klock';

/** Every way an object of an application can come about, and how its class can get its methods. */
class Base {
  @Locked('shape:{0}')
  async held(_id: string, @CurrentLock() lock?: LockHandle): Promise<boolean> {
    return lock?.held === true;
  }

  async overridden(_id: string): Promise<boolean> {
    return false;
  }
}

@Injectable()
class Inherited extends Base {
  @Locked('shape:{0}')
  override async overridden(_id: string, @CurrentLock() lock?: LockHandle): Promise<boolean> {
    return lock?.held === true;
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest extends Inherited {}

@Injectable({ scope: Scope.TRANSIENT })
class Transient extends Inherited {}

@Injectable()
class MadeByFactory extends Inherited {}

@Injectable()
class MadeByHand extends Inherited {}

@Module({
  imports: [KlockModule.forRoot({ driver: 'memory' })],
  providers: [
    Inherited,
    PerRequest,
    Transient,
    { provide: MadeByFactory, useFactory: () => new MadeByFactory() },
    { provide: MadeByHand, useValue: new MadeByHand() },
  ],
})
class App {}

export async function everyShape(): Promise<void> {
  const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
  const moduleRef = app.get(ModuleRef);
  const objects: Inherited[] = [app.get(Inherited), app.get(MadeByFactory), app.get(MadeByHand)];
  objects.push(await app.resolve(PerRequest), await app.resolve(Transient));
  objects.push(await moduleRef.create(Inherited));
  objects.push(bindLocks(new Inherited(), app.get<Klock>(getKlockToken())));
  for (const object of objects) {
    const name = object.constructor.name;
    if (!(await object.held('1'))) throw new Error(`${name}.held ran unlocked`);
    if (!(await object.overridden('1'))) throw new Error(`${name}.overridden ran unlocked`);
  }
  const refused = await new Inherited().held('1').catch((error: { code?: string }) => error.code);
  if (refused !== 'NOT_INITIALIZED') throw new Error(`an object of nobody should refuse: ${String(refused)}`);
  await app.close();
}
