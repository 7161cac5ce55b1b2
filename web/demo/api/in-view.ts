import type { SubscriptionForwarder } from '@urql/core';
import { Value, type Watched } from '@ovation/client';

const linger = 1_000; // milliseconds: the next view soon subscribes again

// InView tracks whether the view has subscriptions. Those to messages do not count, as
// every view has one.
export class InView {
  private readonly value = new Value(true);
  private count = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.change(0);
  }

  get subscribed(): Watched<boolean> {
    return this.value;
  }

  // counting wraps a forwarder and counts its subscriptions.
  counting(forward: SubscriptionForwarder): SubscriptionForwarder {
    return (body, operation) => {
      const source = forward(body, operation);
      if (body.operationName === 'Messages') return source;
      return {
        subscribe: (sink) => {
          let counted = 1;
          this.change(1);
          const end = () => {
            this.change(-counted);
            counted = 0;
          };
          const subscription = source.subscribe({
            next: (value) => sink.next(value),
            error(error) {
              end();
              sink.error(error);
            },
            complete() {
              end();
              sink.complete();
            },
          });
          return {
            unsubscribe() {
              end();
              subscription.unsubscribe();
            },
          };
        },
      };
    };
  }

  private change(by: number): void {
    this.count += by;
    clearTimeout(this.timer);
    if (this.count > 0) this.value.set(true);
    else this.timer = setTimeout(() => this.value.set(false), linger);
  }
}
