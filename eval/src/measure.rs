//! What a thread took so far: steps, time, tokens, money; of the threads that it called, too.

use uwf_agent::runtime::live::OpenVisits;
use uwf_engine::ThreadId;
use uwf_engine::thread::{ThreadError, chain, head};
use uwf_engine::view::{Spent, SpentBy};
use uwf_store::Store;

use crate::case::Tokens;

/// What a thread took so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    /// How many steps its chain has.
    pub(crate) steps: u64,
    /// How long they were worked at, with attempts that failed.
    pub(crate) seconds: f64,
    /// What they used.
    pub(crate) tokens: Tokens,
    /// What they cost; none where nobody knows.
    pub(crate) cost_usd: Option<f64>,
    /// The model, where one model alone is told.
    pub(crate) model: Option<String>,
}

impl Measured {
    /// Of a thread.
    pub(crate) fn of(store: &Store, thread: &ThreadId) -> Result<Measured, ThreadError> {
        let chain = chain(store, &head(store, thread)?.hash)?;
        let spent = Spent::of(store, Some(thread), None, SpentBy::Model)?;
        let mut models = spent.rows.iter().filter_map(|row| row.name.clone());
        let model = models.next().filter(|_| models.next().is_none());
        Ok(Measured {
            steps: chain.steps.len() as u64,
            seconds: spent.total.worked,
            tokens: Tokens {
                input: spent.total.input_tokens,
                output: spent.total.output_tokens,
                turns: spent.total.turns,
            },
            cost_usd: spent.total.cost,
            model,
        })
    }

    /// The same, with what had begun there and is no step.
    #[must_use]
    pub(crate) fn with(self, open: &OpenVisits) -> Measured {
        let costs = self.cost_usd.into_iter().chain(open.cost_usd);
        Measured {
            seconds: self.seconds + open.seconds,
            tokens: Tokens {
                input: self.tokens.input + open.usage.input_tokens,
                output: self.tokens.output + open.usage.output_tokens,
                turns: self.tokens.turns + open.turns,
            },
            cost_usd: costs.reduce(|one, other| one + other),
            ..self
        }
    }
}
