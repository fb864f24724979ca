# Evaluates the Vagrantfile named in ARGV without Vagrant and prints what it declares as JSON.
require "json"

# Answers every call of Vagrant's language that the Vagrantfile uses; any other one is an error.
class Recorder
  attr_reader :seen
  alias vm itself

  def initialize
    @seen = { "machines" => {} }
  end

  %w[box box_version hostname cpus memory].each do |name|
    define_method("#{name}=") { |value| @seen[name] = value }
  end

  def network(kind, ip:)
    @seen["network"] = { "kind" => kind, "ip" => ip }
  end

  def define(name)
    machine = Recorder.new
    yield machine
    @seen["machines"][name] = machine.seen
  end

  def provider(_name)
    yield self
  end

  def provision(kind, **settings)
    (@seen["provision"] ||= []) << settings.merge(kind: kind)
  end

  def synced_folder(*, **); end
end

module Vagrant
  def self.require_version(requirement)
    @requirement = requirement
  end

  def self.configure(_version)
    recorder = Recorder.new
    yield recorder
    puts JSON.generate(recorder.seen.merge("required_version" => @requirement))
  end
end

load ARGV.fetch(0)
