//! Where the spans of a run go: to the collector that the environment names, once, at the end.
//!
//! Apart because it is behind the feature `otel`. A collector that cannot be reached is told of and changes nothing.

use crate::shell::Ui;
use uwf_engine::{Env, catalogue};
use uwf_store::Clock;

use uwf_agent::otel::{self, Spans};
use uwf_agent::provider::host_and_path;
use uwf_agent::react::Notice;
use uwf_agent::settings::ProviderSettings;
use uwf_agent::trace::Trace;

/// The spans of one run, on their way.
pub(super) struct Traces {
    spans: Spans,
    url: String,
    service: String,
    /// `OTEL_RESOURCE_ATTRIBUTES`.
    resource: String,
    clock: Clock,
}

impl Traces {
    /// Nothing unless the environment names a collector (`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, else
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`). A run that is part of no trace begins one then, which commands and the endpoint
    /// are told like any other.
    pub(super) fn begin(
        env: &Env,
        provider: &ProviderSettings,
        clock: Clock,
    ) -> (Option<Trace>, Option<Traces>) {
        let next_id = || fastrand::u64(1..);
        let given = Trace::of(env, next_id());
        let base = |base: &str| format!("{}/v1/traces", base.trim_end_matches('/'));
        let url = env.text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").map(str::to_owned);
        let url = url.or_else(|| env.text("OTEL_EXPORTER_OTLP_ENDPOINT").map(base));
        let Some(url) = url else { return (given, None) };
        let trace = given.unwrap_or_else(|| Trace::new(fastrand::u128(1..), next_id()));
        let provider = match provider {
            ProviderSettings::Mock(_) | ProviderSettings::Own(_) => "mock",
            ProviderSettings::Http(endpoint) => host_and_path(&endpoint.base_url)
                .and_then(|(host, _)| catalogue::provider_of(&host))
                .unwrap_or("openai"),
        };
        let service = env.text("OTEL_SERVICE_NAME").unwrap_or("uwf-builtin").to_owned();
        let resource = env.text("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default().to_owned();
        let spans = Spans::new(trace.clone(), provider, next_id, clock());
        let traces = Traces { spans, url, service, resource, clock };
        let sampled = trace.is_sampled().then_some(traces);
        (Some(trace), sampled)
    }

    /// What happens.
    pub(super) fn tell(&mut self, event: &Notice<'_>) {
        self.spans.on_notice(event, (self.clock)());
    }

    /// The run is over.
    pub(super) fn send(self, runtime: &tokio::runtime::Runtime, ui: &mut Ui<'_>) {
        let sent = runtime.block_on(otel::export(&self.url, &self.spans.body(&self.service, &self.resource)));
        if let Err(why) = sent {
            ui.warn(&format!("the spans of the run did not reach the collector: {why}"));
        }
    }
}
